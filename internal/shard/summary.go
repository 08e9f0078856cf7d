package shard

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
)

// Summarizer is a Tx that holds properties decoded, block by block, with statistics of each block.
type Summarizer interface {
	// Summarize passes properties of all vertices, or of all edges of a type, to sink. It reports false, having passed
	// nothing, where much would have to be decoded first, which other requests do as well.
	Summarize(ctx context.Context, req *Summarize, sink Sink) (bool, error)
}

// Summarize asks for properties of all edges of a type, or of all vertices.
type Summarize struct {
	Type  graph.TypeID    // 0: of vertices
	Dir   graph.Direction // the lists to read the edges from: Out or In
	Props []graph.PropID
	// Where are the conditions on the vertices or edges.
	Where []EdgeRange
}

// Sink takes the vertices or edges that Summarize finds, in the order of a scan. Without conditions, there may be
// vertices among them that do not exist: those have no properties.
type Sink interface {
	// Block consumes n vertices or edges by summaries of their properties. It returns false, having consumed nothing, if it needs
	// their values.
	Block(n int, props []graph.Summary) (bool, error)
	// Values takes n vertices or edges with their properties. The columns are reused after the call, but values are
	// valid until the transaction ends.
	Values(ctx context.Context, n int, props [][]graph.Value) error
}
