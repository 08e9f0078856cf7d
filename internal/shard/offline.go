package shard

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
)

// EdgeSorter takes the edges of a load into an empty graph that has no other user: it sorts them outside of memory and
// writes each list once. Its graph takes vertices as always until Prepare, and must not be written to between Finish
// and the end.
type EdgeSorter interface {
	// Prepare announces that all vertices, whose keys are in these unique indexes, have been added.
	Prepare(ctx context.Context, spaces []graph.IndexID) error
	// Takes reports whether edges of a type can be sorted; else they are loaded as always, with Graph.Load.
	Takes(t graph.TypeID) bool
	// Resolve finds the ends of rows, which insert, or upsert with the strategy Override, and packs them. Several goroutines may call
	// it concurrently. Its result shares the keys' memory, but not that of the columns.
	Resolve(e *LoadEdges) (SortedRows, error)
	// Add takes rows in, in the order of the load. Those that are refused are appended to l.Rejected as rows of a group.
	Add(ctx context.Context, rows SortedRows, l *Load, group int) error
	// Finish writes the lists and completes the graph: packed, compacted, with all its statistics. Add counts every row as created; again
	// corrects that for the rows that repeat an edge.
	Finish(ctx context.Context) (again RowCounts, err error)
}

// SortedRows is the packed form of rows that EdgeSorter.Resolve returns.
type SortedRows any
