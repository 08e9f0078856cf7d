package algo

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

var triangleCount = Algorithm{
	Name: "algo.triangleCount", Results: "node :: NODE, triangles :: INTEGER",
	Description: "Count the triangles that each node is part of, whatever the directions of edges.",
	compute: func(ctx context.Context, j *job) (*answer, error) {
		counts, _, err := j.triangles(ctx, func(bool, bool) uint32 { return 1 })
		if err != nil {
			return nil, err
		}
		return j.of(column{integers: counts}), nil
	},
}

var lcc = Algorithm{
	Name: "algo.lcc", Results: "node :: NODE, coefficient :: FLOAT",
	Description: "Compute local clustering coefficients: which part of the possible edges between a node's neighbours exists.",
	keys:        []string{"direction"},
	compute:     computeLCC,
}

// computeLCC follows LDBC Graphalytics: the neighbours are those along any edge, and the edges between them count by their direction,
// or in both directions where edges have none.
func computeLCC(ctx context.Context, j *job) (*answer, error) {
	edges := func(out, in bool) uint32 {
		if out && in || j.direction == graph.Both {
			return 2
		}
		return 1
	}
	counts, degrees, err := j.triangles(ctx, edges)
	if err != nil {
		return nil, err
	}
	coefficients, err := slice[float64](j, len(counts))
	if err != nil {
		return nil, err
	}
	for v, d := range degrees {
		if d > 1 {
			coefficients[v] = float64(counts[v]) / (float64(d) * float64(d-1))
		}
	}
	return j.of(column{floats: coefficients}), nil
}

// twice marks the entry of a neighbour that counts as two edges.
const twice = 1 << 31

// triangles adds, for each vertex, the weights of the edges opposite to it in its triangles. weight returns the weight of two
// neighbours, 1 or 2, by the directions in which edges join them. degrees are the numbers of distinct neighbours.
//
// Each edge is directed from the end with fewer neighbours to the other, so that a triangle has one vertex with edges to both
// others, and the lists of vertices with many neighbours are short.
func (j *job) triangles(ctx context.Context, weight func(out, in bool) uint32) (counts []int64, degrees []uint32, err error) {
	if err := j.vertices(ctx); err != nil {
		return nil, nil, err
	}
	n := len(j.ids)
	out, err := j.distinct(ctx, graph.Out)
	if err != nil {
		return nil, nil, err
	}
	in, err := j.distinct(ctx, graph.In)
	if err != nil {
		return nil, nil, err
	}
	if degrees, err = slice[uint32](j, n); err != nil {
		return nil, nil, err
	}
	if err := j.pure(ctx, n, func(lo, hi int) {
		for v := lo; v < hi; v++ {
			both(out.of(v), in.of(v), func(u uint32, _, _ bool) {
				if u != uint32(v) {
					degrees[v]++
				}
			})
		}
	}); err != nil {
		return nil, nil, err
	}
	ahead := func(v, u uint32) bool { return degrees[v] < degrees[u] || degrees[v] == degrees[u] && v < u }
	f := &lists{}
	if f.offsets, err = slice[int64](j, n+1); err != nil {
		return nil, nil, err
	}
	if err := j.pure(ctx, n, func(lo, hi int) {
		for v := lo; v < hi; v++ {
			both(out.of(v), in.of(v), func(u uint32, _, _ bool) {
				if ahead(uint32(v), u) {
					f.offsets[v+1]++
				}
			})
		}
	}); err != nil {
		return nil, nil, err
	}
	for v := range n {
		f.offsets[v+1] += f.offsets[v]
	}
	if f.targets, err = slice[uint32](j, int(f.offsets[n])); err != nil {
		return nil, nil, err
	}
	if err := j.pure(ctx, n, func(lo, hi int) {
		for v := lo; v < hi; v++ {
			at := f.offsets[v]
			both(out.of(v), in.of(v), func(u uint32, o, i bool) {
				if ahead(uint32(v), u) {
					if f.targets[at] = u; weight(o, i) == 2 {
						f.targets[at] |= twice
					}
					at++
				}
			})
		}
	}); err != nil {
		return nil, nil, err
	}
	j.drop(out)
	j.drop(in)
	counts, err = j.closed(ctx, f)
	return counts, degrees, err
}

// both merges two ascending lists.
func both(a, b []uint32, f func(u uint32, inA, inB bool)) {
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			f(a[0], true, false)
			a = a[1:]
		case len(a) == 0 || b[0] < a[0]:
			f(b[0], false, true)
			b = b[1:]
		default:
			f(a[0], true, true)
			a, b = a[1:], b[1:]
		}
	}
}

// closed finds the triangles of directed lists.
func (j *job) closed(ctx context.Context, f *lists) ([]int64, error) {
	n := len(j.ids)
	counts, err := slice[int64](j, n)
	if err != nil {
		return nil, err
	}
	marks, err := newWorkers(n, func() ([]uint8, error) { return slice[uint8](j, n) })
	if err != nil {
		return nil, err
	}
	err = j.each(ctx, n, func(own *runtime.Run) func(lo, hi int) error {
		mark, work := *marks.of(own), 0
		return func(lo, hi int) error {
			for v := lo; v < hi; v++ {
				first := f.of(v)
				for _, u := range first {
					mark[u&^twice] = 1 + uint8(u>>31)
				}
				mine := int64(0)
				for _, u := range first {
					weight, second, its := int64(1+u>>31), f.of(int(u&^twice)), int64(0)
					work += len(second)
					for _, w := range second {
						if m := mark[w&^twice]; m != 0 {
							mine += int64(1 + w>>31)
							its += int64(m)
							atomic.AddInt64(&counts[w&^twice], weight)
						}
					}
					if its != 0 {
						atomic.AddInt64(&counts[u&^twice], its)
					}
				}
				if mine != 0 {
					atomic.AddInt64(&counts[v], mine)
				}
				for _, u := range first {
					mark[u&^twice] = 0
				}
				if work >= checkEvery {
					work = 0
					if err := own.CheckCancel(ctx); err != nil {
						return err
					}
				}
			}
			return nil
		}
	})
	return counts, err
}

// checkEvery is about how many edges a goroutine walks between two checks for cancellation, where a part may have many.
const checkEvery = 1 << 20

// distinct reads the lists of a direction, sorted and without repeats.
func (j *job) distinct(ctx context.Context, dir graph.Direction) (*lists, error) {
	l, err := j.neighbours(ctx, dir)
	if err != nil {
		return nil, err
	}
	used, err := slice[uint32](j, len(j.ids))
	if err != nil {
		return nil, err
	}
	if err := j.pure(ctx, len(used), func(lo, hi int) {
		for v := lo; v < hi; v++ {
			list := l.of(v)
			if !slices.IsSorted(list) {
				slices.Sort(list)
			}
			used[v] = uint32(len(slices.Compact(list)))
		}
	}); err != nil {
		return nil, err
	}
	l.close(used)
	j.release(4 * len(used))
	return l, nil
}
