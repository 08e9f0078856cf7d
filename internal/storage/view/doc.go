// Package view reads one state of a shard: a snapshot, or a snapshot under the uncommitted changes of a transaction.
//
//	View ─ Acquire ─► Reader ─► Cursor ─┬─ iterator of the snapshot
//	  ▲                 │               └─ Overlay of the transaction, if it writes
//	  Set               └─ ListCursor: packed lists, delta edges, groups of delta edges
//
// A View hands a Reader to each request and keeps it for the next one, since iterators and scratch memory are costly. A Reader has one
// Cursor for each keyspace that it has read, and in the keyspaces of edges one for each type and direction. Requests name their vertices in
// ascending order, so a Cursor mostly steps forwards, or stays.
//
// A Cursor over an Overlay merges two sorted sequences: on equal keys the overlay's record counts, and a deletion there hides the stored
// record.
//
//	stored    a   c   d       g
//	overlay     b    −d   f
//	seen      a b c       f   g
//
// A ListCursor assembles an edge list from the packed segments, the delta records of single edges, which override, and the runs that
// commits have appended, of this list alone or in groups for many lists. Lists is the interface to it: append the edges of a vertex, mark
// its neighbours, count them, find one edge.
//
// A Set is the open views of a shard. It closes the snapshots of closed views a little later and together, from the newest to the oldest,
// because closing the oldest makes Pebble look for compactions.
package view
