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

// Prefetch is what an operator prefetches for the hop that begins with the vertices it finds. The zero value is nothing.
type Prefetch struct {
	Hop   Prefetcher
	Limit int  // about how many edges the hop wants at once, if not as a set
	Set   bool // the hop wants its far ends as a set
}

// AcceptPrefetch lets the hop for which the compiler has marked a stage set p, which belongs to the stage's operator.
func (r *Run) AcceptPrefetch(s *Stage, p *Prefetch) {
	if !s.Prefetches {
		return
	}
	if r.prefetches == nil {
		r.prefetches = make([]*Prefetch, len(r.Program.Stages))
	}
	r.prefetches[s.ID] = p
}

// PrefetchOf gives the prefetch that the operator of a stage has accepted; nil if the stage is nil or has no such operator in
// this run.
func (r *Run) PrefetchOf(s *Stage) *Prefetch {
	if s == nil || r.prefetches == nil {
		return nil
	}
	return r.prefetches[s.ID]
}
