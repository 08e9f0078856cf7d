// Package past reads a graph as of an earlier commit: what the commit log has of later commits, undone over a transaction of the present.
//
//	          commit 40                                    commit 57
//	the log       │ 41 │ 42 │        …        │ 56 │ 57 │
//	              └──────────── Moment 40 ────────────┘
//	                 what 41 … 57 changed, as it was at 40
//
//	a read ─► reader ─┬─► present transaction, at 57     whatever no later commit changed
//	                  └─► Moment 40                      the rest, in its place
//
// A Moment has, of each vertex and edge that commits after it changed, what it was: its labels, the properties that changed, whether it was
// there. Its memory is in proportion to that. What the first change after the moment had before is what was at the moment, so later changes
// of the same add only properties that were not changed before.
//
// Whatever a Moment has, it may have more: it may also be extended by commits that a transaction's snapshot does not have. Their changes
// leave the element in the snapshot as it was at the moment, so that to read the Moment in place of the snapshot makes no difference.
// Therefore transactions of all snapshots share the Moment, while it is extended in place.
//
//	vertices   by id: labels, properties
//	edges      by id: ends, properties, the commits that made and deleted it; chained by source and by target
//	order      the ids of the vertices that were there, for scans           } made when a request needs it, and again
//	entries    of an index: tuples and owners that were there, in order     } after commits that its transaction has
//	counts     of the whole graph, made once
//	texts      of a full-text index at the moment, made once
//
// An index shows the present; its entries of changed elements give way to those that they had. So an index that is younger than the moment
// serves as well. The graphs of vector indexes and full-text indexes show the present alone: where a later commit has changed what they are
// over, vectors are compared one by one, and texts are searched in an index of the moment, in memory.
//
// A History keeps the moments of a graph that were read last, within a number of bytes.
package past
