// Package staging collects the changes of a transaction to a shard until they are committed.
//
//	           ┌ Vertices ┐
//	mutation ─ │ Edges    │ ─► overlay (records, large values)
//	           │ Entries  │ ─► statistics that change
//	           └ Texts    ┘ ─► Changes, for caches
//
// A Writer is a view, too: it reads its own changes, which lie in the overlay over a snapshot. Any number of writers may work at the same
// time, each of one goroutine; ids of vertices and edges come from counters that they share.
//
// Vertices writes delta records for single vertices and packed chunks for runs of new ones. Merge changes a few properties of many vertices
// and rewrites the chunks in which most vertices change. Both keep the counts of properties right, for which they must know whether a
// vertex had a property before: the delta record says so, or else the column chunk, of which a writer remembers the last one read.
//
// Edges writes an edge twice, at its source and at its target, with the same properties. Large values of edges belong to the source's shard.
//
// A Bulk of package pack joins the changes of a Writer for loads.
package staging
