// Package apoc adds functions of APOC 5 to the catalogue. Each is an entry of a table: a signature, which says what the arguments must be, a
// description, and an implementation over values of those types.
//
// An argument in brackets may be missing. Null for any other argument gives null, unless the entry is loose: then the implementation
// sees nulls. Lengths and places in texts count code points.
package apoc
