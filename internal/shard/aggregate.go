package shard

import (
	"context"
	"errors"

	"github.com/hopgate/hopgate/internal/graph"
)

// Aggregator is a Tx that adds up vertices or edges by group where they are, so that no rows travel.
type Aggregator interface {
	// Aggregate prepares an aggregation. It returns nil without an error if the caller must read rows.
	Aggregate(ctx context.Context, req *Aggregate) (Aggregation, error)
}

// Aggregate asks for aggregates of the vertices with a label, or of all edges of a type, that meet conditions; or, with Pairs, for
// numbers of edges.
type Aggregate struct {
	Label graph.LabelID    // of vertices; 0: any
	Sets  []graph.LabelSet // the label sets with that label, which a PartTx does not know
	Type  graph.TypeID     // of edges; 0: vertices
	Dir   graph.Direction  // whose lists have the edges: Out or In
	Where []EdgeRange
	Props []graph.PropID
	Keys  []int // the places in Props that vertices are grouped by; none: there is one group, as there always is of edges
	// Members asks for the vertices of each group as well.
	Members bool
	Aggs    []PartialAgg
	Pairs   *Pairs
}

// PartialAgg is an aggregate of the property at a place in Aggregate.Props.
type PartialAgg struct {
	Func AggFunc
	Prop int
}

// AggFunc is what an aggregate computes of values that are not null. Their number comes with each.
type AggFunc uint8

// The functions.
const (
	AggCount AggFunc = iota
	AggMin
	AggMax
	AggSum
	NumAggFuncs
)

// Pairs asks for the numbers of edges by the numbers of their ends: a matrix, row by row.
type Pairs struct {
	// From and To are the numbers of vertices by shard and local id, rows and columns of the matrix. A list's owner that From
	// does not have, or that is negative there, is left out; such far ends count in the last column, Width-1.
	From, To    [][]int32
	Rows, Width int
}

// Aggregation is one Aggregate, in parts that goroutines can add side by side.
type Aggregation interface {
	Parts() int
	// Begin returns a Partial without rows. ordered says that it gets all parts, in their order.
	Begin(ordered bool) Partial
}

// Partial is what one goroutine has added up.
type Partial interface {
	// Add adds parts lo … hi-1, and returns how many edges it visited. After an error, nothing can be done with the Partial.
	Add(ctx context.Context, lo, hi int) (visited int, err error)
	// Groups returns the groups; those that were added up apart, as by several shards, are apart.
	Groups() ([]*Groups, error)
}

// ErrOrder is the error of a Partial without all parts for values whose order counts, such as floats that are added. ErrRows is that of a
// Partial that had better not go on, so that the caller must read rows.
var (
	ErrOrder = errors.New("the order of values counts")
	ErrRows  = errors.New("rows are needed")
)

// Groups are groups with partial aggregates. A group may be there several times, and then adds up. The keys of its vertices are identical
// in type and value: 1 and 1.0 make two groups.
type Groups struct {
	First  []graph.VertexID // by group, a vertex before which the scan has none of the group; groups merge in the order of these
	Rows   []int64          // by group
	Keys   [][]graph.Value  // by key and group
	Counts [][]int64        // by aggregate and group: values that are not null
	Values [][]graph.Value  // by aggregate and group: the sum or the extreme; null without values
	Pairs  []int64          // the matrix that Aggregate.Pairs asks for
	// Members are the vertices that Aggregate.Members asks for, MemberOf their groups.
	Members  []graph.VertexID
	MemberOf []uint32
}
