package runtime

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// Prefetcher is a hop that begins with vertices that an operator below finds. It gives its requests before the vertices are
// known, so that the shard that finds them answers these at once.
type Prefetcher interface {
	// PrefetchNext gives the request of the hop, without its sources, or nil; limit is about how many edges are wanted at once.
	PrefetchNext(limit int) *shard.Expand
	// PrefetchBeyond gives the request of the hop after it, kept in x, or nil. A hop that fills a set puts set into the request.
	PrefetchBeyond(x *shard.Expand, set *graph.VertexSet) *shard.Expand
}

// feeder is an operator that may prefetch for the hop that begins with one of its columns.
type feeder interface {
	Prefetch(at int, p Prefetcher, limit int)
}

// Prefetch lets the operator that finds the vertices in column at of op's batches prefetch for the hop that begins with them.
func Prefetch(op Operator, at int, p Prefetcher, limit int) {
	if f, ok := Unmetered(op).(feeder); ok && at >= 0 {
		f.Prefetch(at, p, limit)
	}
}

// Unmetered gives the operator that a meter measures.
func Unmetered(op Operator) Operator {
	if m, ok := op.(*meter); ok {
		return m.op
	}
	return op
}
