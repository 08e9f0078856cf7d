package algo

import (
	"context"
	"math"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
)

var pageRank = Algorithm{
	Name: "algo.pageRank", Results: "node :: NODE, rank :: FLOAT",
	Description: "Rank nodes by the ranks of those that lead to them.",
	keys:        []string{"direction", "maxIterations", "damping", "tolerance"},
	defaults:    config{maxIterations: 20, damping: 0.85},
	compute:     computePageRank,
}

// computePageRank follows LDBC Graphalytics: all ranks begin as 1/n, and in each iteration a vertex shares its rank among its edges,
// one without edges among all vertices. Ranks are pulled along the edges, so that each vertex is written by one goroutine.
func computePageRank(ctx context.Context, j *job) (*answer, error) {
	if err := j.vertices(ctx); err != nil {
		return nil, err
	}
	in, err := j.neighbours(ctx, j.direction.Reverse())
	if err != nil {
		return nil, err
	}
	n := len(j.ids)
	degrees, err := slice[uint32](j, n)
	if err != nil {
		return nil, err
	}
	if err := j.pure(ctx, n, func(lo, hi int) {
		for _, u := range in.targets[in.offsets[lo]:in.offsets[hi]] {
			atomic.AddUint32(&degrees[u], 1)
		}
	}); err != nil {
		return nil, err
	}
	rank, err := slice[float64](j, n)
	if err != nil {
		return nil, err
	}
	share, err := slice[float64](j, n)
	if err != nil {
		return nil, err
	}
	for v := range rank {
		rank[v] = 1 / float64(n)
	}
	for range j.maxIterations {
		dangling, err := j.sum(ctx, n, func(lo, hi int) (lost float64) {
			for v := lo; v < hi; v++ {
				if degrees[v] == 0 {
					lost += rank[v]
				} else {
					share[v] = rank[v] / float64(degrees[v])
				}
			}
			return lost
		})
		if err != nil {
			return nil, err
		}
		base := (1-j.damping)/float64(n) + j.damping*dangling/float64(n)
		change, err := j.sum(ctx, n, func(lo, hi int) (change float64) {
			for v := lo; v < hi; v++ {
				got := 0.0
				for _, u := range in.of(v) {
					got += share[u]
				}
				now := base + j.damping*got
				change += math.Abs(now - rank[v])
				rank[v] = now
			}
			return change
		})
		if err != nil {
			return nil, err
		}
		if change < j.tolerance {
			break
		}
	}
	return j.of(column{floats: rank}), nil
}

// undirected are the defaults of algorithms for which edges have no direction.
var undirected = config{direction: graph.Both, maxIterations: 10}
