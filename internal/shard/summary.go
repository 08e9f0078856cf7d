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

// BlockReader is a Tx that holds properties of vertices decoded in this process, block by block.
type BlockReader interface {
	// Blocks returns the number of blocks of vertices. It reports false where much would have to be decoded first.
	Blocks(ctx context.Context, req *ReadBlocks) (n int, ok bool, err error)
	// ReadBlocks passes the vertices of blocks lo … hi-1 to sink, in the order of a scan. Many goroutines may call it.
	ReadBlocks(ctx context.Context, req *ReadBlocks, lo, hi int, sink CellSink) error
}

// ReadBlocks asks for properties of the vertices with a label that meet conditions.
type ReadBlocks struct {
	Label graph.LabelID // 0: of all vertices
	Props []graph.PropID
	Where []EdgeRange
}

// CellSink takes the vertices of a ReadBlocks.
type CellSink interface {
	// Cells takes the vertices at some places of a block, which are ascending. props are the cells of the block by property. They
	// are valid during the call, but texts until the transaction ends.
	Cells(ctx context.Context, block int, places []uint32, props []graph.Cells) error
}

// PairCounter is a Tx that counts edges by numbers of their ends in this process.
type PairCounter interface {
	// CountPairs adds the edges of n vertices of a shard, from first on, to counts, a matrix of rows of Pairs.Width.
	CountPairs(ctx context.Context, req *Pairs, first graph.VertexID, n int, counts []int64) error
}

// Pairs asks for the numbers of edges of a type by the numbers of their ends.
type Pairs struct {
	Type graph.TypeID
	Dir  graph.Direction // Out or In: whose lists are read
	// From and To are the numbers of vertices by shard and local id, rows and columns of the matrix. A list's owner that From
	// does not have, or that is negative there, is left out; such far ends count in the last column, Width-1.
	From, To [][]int32
	Width    int
}
