// Package table writes sorted tables that a store ingests: one for each large class of records, so that a table overlaps few others.
//
//	records in the order of their keys
//	─ counters, names ─┬─ lists KNOWS out ─┬─ lists KNOWS in ─┬─ column name ─┬─ ...
//	      small        │      large        │      large       │     small     │
//	     table 0       │     table 1       │     table 2      │    table 3    │
//
// A class is the records with one prefix, such as the lists of one type and direction. The keys of a load's new vertices follow those
// of all others in their class, so the table of a class overlaps no stored table, and Pebble puts it at the lowest level as it is. One table of all
// classes would overlap every table of the store.
//
// Tables are in the directory of the store until it ingests them. After a crash, Clean removes those that it has not.
package table
