// Package index describes the indexes and constraints of a graph, with their names resolved to numbers.
//
// A catalog names labels, types and properties. Defs resolves the names once, after each change of the catalog, so that writes find what they
// must maintain by number:
//
//	graph.Index{Label: "Person", Props: ["name"]} ─ New ─► Def{Labels: [3], PropIDs: [7]}
//	                                                       ├─ ByLabel[3]   vertices
//	                                                       ├─ ByType[…]    edges
//	                                                       └─ Spaces, TTLs
//
// A commit asks for the Defs of each label or type that it changes; a read takes those of its snapshot, since an index may come online or be
// dropped meanwhile:
//
//	write ─ ByLabel ─ Touches? ─ Values, Merged ─ entries, or what a full-text index must read again
//	read  ─ snapshot.Defs ─ ByID ─ online? ─ look-up, range
//
// Id spaces, and TTLs that count from the last write, have hidden properties (SpaceProp), which users do not see.
package index
