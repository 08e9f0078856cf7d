package algo

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
)

var scc = Algorithm{
	Name: "algo.scc", Results: "node :: NODE, component :: INTEGER",
	Description: "Find the strongly connected components, whose nodes all lead to each other. A component is named by the least id of its nodes.",
	compute:     computeSCC,
}

// tarjan is Tarjan's search for strongly connected components, with a stack of its own in place of calls.
type tarjan struct {
	out   *lists
	order []uint32 // when a vertex was met, from 1; 0: not yet
	low   []uint32 // the earliest vertex on the stack that it leads to; settled: it is in a component
	at    []int64  // the next edge of a vertex on the way
	way   []uint32 // from the root to the vertex at hand
	stack []uint32 // met, in no component yet
	met   uint32
}

const settled = ^uint32(0)

func computeSCC(ctx context.Context, j *job) (*answer, error) {
	if err := j.vertices(ctx); err != nil {
		return nil, err
	}
	out, err := j.neighbours(ctx, graph.Out)
	if err != nil {
		return nil, err
	}
	n := len(j.ids)
	t := &tarjan{out: out}
	component, err := slice[uint32](j, n)
	if err != nil {
		return nil, err
	}
	for _, s := range []*[]uint32{&t.order, &t.low, &t.way, &t.stack} {
		if *s, err = slice[uint32](j, n); err != nil {
			return nil, err
		}
	}
	if t.at, err = slice[int64](j, n); err != nil {
		return nil, err
	}
	t.way, t.stack = t.way[:0], t.stack[:0]
	for root, work := 0, 0; root < n; root++ {
		if t.order[root] != 0 {
			continue
		}
		for t.meet(uint32(root)); len(t.way) > 0; work++ {
			if work%checkEvery == 0 {
				if err := j.run.CheckCancel(ctx); err != nil {
					return nil, err
				}
			}
			t.advance(component)
		}
	}
	return j.of(column{numbers: component}), nil
}

// meet puts a vertex on the way.
func (t *tarjan) meet(v uint32) {
	t.met++
	t.order[v], t.low[v], t.at[v] = t.met, t.met, t.out.offsets[v]
	t.way, t.stack = append(t.way, v), append(t.stack, v)
}

// advance follows the next edge of the last vertex on the way, or leaves it if it has none.
func (t *tarjan) advance(component []uint32) {
	v := t.way[len(t.way)-1]
	if t.at[v] < t.out.offsets[v+1] {
		u := t.out.targets[t.at[v]]
		t.at[v]++
		switch {
		case t.order[u] == 0:
			t.meet(u)
		case t.low[u] != settled:
			t.low[v] = min(t.low[v], t.order[u])
		}
		return
	}
	t.way = t.way[:len(t.way)-1]
	if len(t.way) > 0 {
		above := t.way[len(t.way)-1]
		t.low[above] = min(t.low[above], t.low[v])
	}
	if t.low[v] != t.order[v] {
		return
	}
	first := len(t.stack) - 1
	least := t.stack[first]
	for t.stack[first] != v {
		first--
		least = min(least, t.stack[first])
	}
	for _, u := range t.stack[first:] {
		component[u], t.low[u] = least, settled
	}
	t.stack = t.stack[:first]
}
