package runtime

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// Prefetcher is a hop that starts from vertices that an operator below finds. It provides its requests before the vertices are
// known, so the shard that finds them answers these at once.
type Prefetcher interface {
	// PrefetchNext returns the request of the hop without its sources, or nil; limit is about how many edges the hop needs at
	// once.
	PrefetchNext(limit int) *shard.Expand
	// PrefetchBeyond returns the request of the following hop, stored in x, or nil. A hop that fills a set puts set into the
	// request.
	PrefetchBeyond(x *shard.Expand, set *graph.VertexSet) *shard.Expand
}

// Prefetch is what an operator prefetches for the hop that starts from its vertices. The zero value prefetches nothing.
type Prefetch struct {
	Hop   Prefetcher
	Limit int  // about how many edges the hop needs at once, if not as a set
	Set   bool // the hop needs its far ends as a set
}

// AcceptPrefetch registers the prefetch of a stage's operator, for the hop that the compiler has assigned to the stage.
func (r *Run) AcceptPrefetch(s *Stage, p *Prefetch) {
	if !s.Prefetches {
		return
	}
	if r.prefetches == nil {
		r.prefetches = make([]*Prefetch, len(r.Program.Stages))
	}
	r.prefetches[s.ID] = p
}

// PrefetchOf returns the prefetch that the operator of a stage has registered, or nil.
func (r *Run) PrefetchOf(s *Stage) *Prefetch {
	if s == nil || r.prefetches == nil {
		return nil
	}
	return r.prefetches[s.ID]
}
