package algo

import (
	"context"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
)

var wcc = Algorithm{
	Name: "algo.wcc", Results: "node :: NODE, component :: INTEGER",
	Description: "Find the connected components, whatever the directions of edges. A component is named by the least id of its nodes.",
	compute:     computeWCC,
}

// computeWCC joins the trees of the ends of each edge. A tree's root is its least vertex, and a root becomes a child of a lesser one
// by compare-and-swap, so goroutines may join any trees concurrently.
func computeWCC(ctx context.Context, j *job) (*answer, error) {
	if err := j.vertices(ctx); err != nil {
		return nil, err
	}
	out, err := j.neighbours(ctx, graph.Out)
	if err != nil {
		return nil, err
	}
	parent, err := slice[uint32](j, len(j.ids))
	if err != nil {
		return nil, err
	}
	for v := range parent {
		parent[v] = uint32(v)
	}
	if err := j.pure(ctx, len(parent), func(lo, hi int) {
		for v := lo; v < hi; v++ {
			for _, u := range out.of(v) {
				join(parent, uint32(v), u)
			}
		}
	}); err != nil {
		return nil, err
	}
	if err := j.pure(ctx, len(parent), func(lo, hi int) {
		for v := lo; v < hi; v++ {
			atomic.StoreUint32(&parent[v], root(parent, uint32(v)))
		}
	}); err != nil {
		return nil, err
	}
	return j.of(column{numbers: parent}), nil
}

// root finds the root of a vertex's tree, and shortens the way there.
func root(parent []uint32, v uint32) uint32 {
	for {
		p := atomic.LoadUint32(&parent[v])
		if p == v {
			return v
		}
		above := atomic.LoadUint32(&parent[p])
		if above != p {
			atomic.CompareAndSwapUint32(&parent[v], p, above)
		}
		v = p
	}
}

func join(parent []uint32, a, b uint32) {
	for {
		a, b = root(parent, a), root(parent, b)
		if a == b {
			return
		}
		if a < b {
			a, b = b, a
		}
		if atomic.CompareAndSwapUint32(&parent[a], a, b) {
			return
		}
	}
}
