// Package export writes a graph to files that a load reads back.
//
//	Graph ─ rows ─► exporter ── first pass: shapes (types.go): labels or type, and the types of each property
//	                   └────── second pass: a file for each shape, or one for all
//	                              │ writer
//	      csv.go, json.go, columnar.go (Parquet, Arrow) │ apoc.go, graphml.go, cypher.go: one file
//	                              ├ mapping.go: how to load what does not describe itself
//	                              └ schema.go: indexes, constraints, TTLs
//
// The files are written to a hidden directory, which gets its name once all of it is there.
package export
