// Package pack writes the vertices and edges of a load in packed form, which spares the delta records and their compaction.
//
//	Bulk.Vertices ─► column chunks, label bitmaps ─┐
//	Bulk.Edges ────► lists, or runs of lists ──────┼─ Finish ─ Each ─► batch or tables
//	Bulk.Entries ──► index entries ────────────────┘
//
// A Bulk belongs to a transaction. What it collects cannot be read before the commit, unless Spill moves it to the transaction's overlay.
//
// New vertices have consecutive ids, so their properties fill the cells of the column grid, each of 512 vertices. Full cells are written
// at once. Cells that are not full stay open until the end; the first one may hold older vertices, whose values it takes over.
//
// New edges of a vertex without a list become its list. Those of other vertices become a run, which a compaction merges into the list later.
// To look up whether lists exist costs more than it saves if most do, so a Bulk stops looking then.
//
// A ListTable writes complete edge lists straight to a sorted table, for offline loads into an empty graph.
package pack
