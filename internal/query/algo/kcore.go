package algo

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
)

var kCore = Algorithm{
	Name: "algo.kCore", Results: "node :: NODE, core :: INTEGER",
	Description: "Find the greatest k for each node so that it is part of a subgraph in which all nodes have k neighbours or more.",
	compute:     computeKCore,
}

// computeKCore takes the vertex with the fewest neighbours away, again and again (Batagelj and Zaversnik). The vertices lie sorted by
// the number of neighbours that they have left, so that one that loses a neighbour changes places with the first of its number.
func computeKCore(ctx context.Context, j *job) (*answer, error) {
	if err := j.vertices(ctx); err != nil {
		return nil, err
	}
	near, err := j.distinct(ctx, graph.Both)
	if err != nil {
		return nil, err
	}
	n := len(j.ids)
	core, err := slice[int64](j, n)
	if err != nil {
		return nil, err
	}
	most := int64(0)
	for v := range n {
		for _, u := range near.of(v) {
			if u != uint32(v) {
				core[v]++
			}
		}
		most = max(most, core[v])
	}
	var begin, sorted, place []uint32 // where each number begins in sorted; the place of each vertex there
	for _, s := range []struct {
		to *[]uint32
		n  int
	}{{&begin, int(most) + 2}, {&sorted, n}, {&place, n}} {
		if *s.to, err = slice[uint32](j, s.n); err != nil {
			return nil, err
		}
	}
	for _, d := range core {
		begin[d+1]++
	}
	for d := range most {
		begin[d+1] += begin[d]
	}
	for v, d := range core {
		place[v] = begin[d]
		sorted[begin[d]] = uint32(v)
		begin[d]++
	}
	copy(begin[1:], begin)
	begin[0] = 0
	for i := range n {
		if i%partSize == 0 {
			if err := j.run.CheckCancel(ctx); err != nil {
				return nil, err
			}
		}
		v := sorted[i]
		for _, u := range near.of(int(v)) {
			if core[u] <= core[v] {
				continue
			}
			first := max(begin[core[u]], uint32(i)+1)
			w := sorted[first]
			sorted[place[u]], sorted[first] = w, u
			place[w], place[u] = place[u], first
			begin[core[u]] = first + 1
			core[u]--
		}
	}
	return j.of(column{integers: core}), nil
}
