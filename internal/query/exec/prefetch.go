package exec

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// prefetcher is a hop that begins with vertices that an operator below finds. It gives its requests before the vertices are
// known, so that the shard that finds them answers these at once.
type prefetcher interface {
	// prefetchNext gives the request of the hop, without its sources, or nil; limit is about how many edges are wanted at once.
	prefetchNext(limit int) *shard.Expand
	// prefetchBeyond gives the request of the hop after it, kept in x, or nil. A hop that fills a set puts set into the request.
	prefetchBeyond(x *shard.Expand, set *graph.VertexSet) *shard.Expand
}

// feeder is an operator that may prefetch for the hop that begins with one of its columns.
type feeder interface {
	prefetch(at int, p prefetcher, limit int)
}

// prefetch lets the operator that finds the vertices in column at of op's batches prefetch for the hop that begins with them.
func prefetch(op operator, at int, p prefetcher, limit int) {
	if f, ok := unmetered(op).(feeder); ok && at >= 0 {
		f.prefetch(at, p, limit)
	}
}

// unmetered gives the operator that a meter measures.
func unmetered(op operator) operator {
	if m, ok := op.(*meter); ok {
		return m.op
	}
	return op
}
