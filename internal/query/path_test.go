package query_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/query/traverse"
)

// plainPath is a path by its edges.
type plainPath struct {
	text string
	sum  int
	n    int
}

// simplePaths enumerates the paths without repeated vertices, the cheapest first.
func (n *network) simplePaths(h *traverse.Hop, from, to graph.VertexID, maxHops int, weighted bool, holds func(plainEdge, graph.VertexID) bool) []plainPath {
	var out []plainPath
	var visit func(w way, sum int)
	visit = func(w way, sum int) {
		if w.end() == to {
			var ids []string
			for _, e := range w.edges {
				ids = append(ids, fmt.Sprint(e.ID))
			}
			out = append(out, plainPath{strings.Join(ids, " "), sum, len(w.edges)})
			return
		}
		if maxHops > 0 && len(w.edges) == maxHops {
			return
		}
		for _, s := range n.steps(h, 0, w.end(), holds) {
			if !slices.Contains(w.vertices, s.to) {
				cost := 1
				if weighted {
					cost = s.e.w
				}
				visit(way{append(slices.Clone(w.vertices), s.to), append(slices.Clone(w.edges), s.e)}, sum+cost)
			}
		}
	}
	visit(way{vertices: []graph.VertexID{from}}, 0)
	slices.SortFunc(out, func(a, b plainPath) int { return cmp.Compare(a.sum, b.sum) })
	return out
}

// paths runs a request for paths and returns their edges and weights.
func (n *network) paths(t *testing.T, p *traverse.Paths) (out []plainPath) {
	t.Helper()
	res, err := n.e.Traverse(context.Background(), query.TypedRequest{Typed: p})
	require.NoError(t, err)
	defer res.Close()
	for {
		b, err := res.Next()
		require.NoError(t, err)
		if b == nil {
			return out
		}
		for i := range b.N {
			var ids []string
			path := b.Cols[0].Value(i).Path()
			for _, e := range path.Edges {
				ids = append(ids, fmt.Sprint(e.EdgeID()))
			}
			weight := b.Cols[1].Value(i)
			if p.Weight == "" { // a number of edges
				require.Equal(t, graph.Int, weight.Kind())
			}
			out = append(out, plainPath{strings.Join(ids, " "), int(weight.Number()), len(path.Edges)})
		}
	}
}

// TestPathsEqualEnumeration compares shortest paths, by length and weight, one, k or all, with all simple paths.
func TestPathsEqualEnumeration(t *testing.T) {
	seeds := 12
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		rnd := rand.New(rand.NewPCG(uint64(seed), 11))
		n := newNetwork(t, rnd, 5+rnd.IntN(5), 8+rnd.IntN(14))
		for range 60 {
			p := &traverse.Paths{Hop: traverse.Hop{Direction: graph.Direction(rnd.IntN(3))}}
			p.Hop.Types = [][]string{nil, {"A"}, {"A", "B"}, {"none"}}[rnd.IntN(4)]
			holds := func(plainEdge, graph.VertexID) bool { return true }
			switch rnd.IntN(3) {
			case 0:
				p.Hop.Where = "v.k % 4 <> 1"
				holds = func(_ plainEdge, v graph.VertexID) bool { return n.key[v]%4 != 1 }
			case 1:
				p.Hop.Where = "e.w <> 3"
				holds = func(e plainEdge, _ graph.VertexID) bool { return e.w != 3 }
			}
			if rnd.IntN(2) == 0 {
				p.MaxHops = uint32(1 + rnd.IntN(4))
			}
			weighted := rnd.IntN(2) == 0
			if weighted {
				p.Weight = []string{"w", "e.w"}[rnd.IntN(2)]
			}
			from, to := n.ids[rnd.IntN(len(n.ids))], n.ids[rnd.IntN(len(n.ids))]
			p.From = traverse.Selector{Label: "N", Property: "k", Values: []graph.Value{graph.IntValue(int64(n.key[from]))}}
			p.To = traverse.Selector{Statement: "MATCH (s:N) WHERE s.k = " + strconv.Itoa(n.key[to]) + " RETURN s"}
			want := n.simplePaths(&p.Hop, from, to, int(p.MaxHops), weighted, holds)
			least := 0
			for least < len(want) && want[least].sum == want[0].sum {
				least++
			}

			got := n.paths(t, p)
			require.Len(t, got, min(1, len(want)), "%+v", p)
			if len(want) > 0 {
				require.Contains(t, want[:least], got[0], "%+v", p)
			}

			k := *p
			k.K = uint32(2 + rnd.IntN(4))
			got = n.paths(t, &k)
			require.Len(t, got, min(int(k.K), len(want)), "%+v", k)
			for i, g := range got {
				require.Equal(t, want[i].sum, g.sum, "%+v", k)
				require.Contains(t, want, g)
				require.NotContains(t, got[:i], g)
			}

			all := *p
			all.All = true
			got = n.paths(t, &all)
			require.ElementsMatch(t, want[:least], got, "%+v", all)
		}
	}
}

// TestPathWeights lists the invalid weights.
func TestPathWeights(t *testing.T) {
	n := newNetwork(t, rand.New(rand.NewPCG(1, 1)), 6, 30)
	for weight, want := range map[string]string{
		"e.w - 100": "a weight must not be negative", "none": "a weight must be a number", "type(e)": "a weight must be a number",
		"count(e)": "count", "e.": "Invalid input",
	} {
		res, err := n.e.Traverse(context.Background(), query.TypedRequest{Typed: &traverse.Paths{
			From: traverse.Selector{Statement: "MATCH (a {k: 0}) RETURN a"}, To: traverse.Selector{Statement: "MATCH (a {k: 5}) RETURN a"},
			Hop: traverse.Hop{Direction: graph.Both}, Weight: weight,
		}})
		if err == nil {
			_, err = res.Next()
			res.Close()
		}
		require.ErrorContains(t, err, want, weight)
	}
}

// TestSubgraphEqualsEnumeration compares the layers by least distance and the edges among the vertices reached.
func TestSubgraphEqualsEnumeration(t *testing.T) {
	for seed := range 8 {
		rnd := rand.New(rand.NewPCG(uint64(seed), 13))
		n := newNetwork(t, rnd, 8+rnd.IntN(12), 12+rnd.IntN(30))
		for range 30 {
			depth := 1 + rnd.IntN(3)
			hops := make([]traverse.Hop, []int{1, depth}[rnd.IntN(2)])
			holds := make([]func(plainEdge, graph.VertexID) bool, len(hops))
			for i := range hops {
				hops[i] = traverse.Hop{Direction: graph.Direction(rnd.IntN(3)), Types: [][]string{nil, {"A"}}[rnd.IntN(2)]}
				holds[i] = func(plainEdge, graph.VertexID) bool { return true }
				switch rnd.IntN(4) {
				case 0:
					hops[i].Where = "v.k % 4 <> 1"
					holds[i] = func(_ plainEdge, v graph.VertexID) bool { return n.key[v]%4 != 1 }
				case 1:
					hops[i].Where = "e.w <> 3"
					holds[i] = func(e plainEdge, _ graph.VertexID) bool { return e.w != 3 }
				}
			}
			steps := func(layer int, v graph.VertexID) []step {
				i := min(layer, len(hops)-1)
				return n.steps(&hops[i], 0, v, holds[i])
			}
			layer := map[graph.VertexID]int{}
			var queue []graph.VertexID
			var starts []graph.Value
			for range 1 + rnd.IntN(3) {
				start := n.ids[rnd.IntN(len(n.ids))]
				starts = append(starts, graph.IntValue(int64(n.key[start])))
				layer[start] = 0
				queue = append(queue, start)
			}
			for len(queue) > 0 {
				v := queue[0]
				queue = queue[1:]
				for _, s := range steps(layer[v], v) {
					if _, ok := layer[s.to]; !ok && layer[v] < depth {
						layer[s.to] = layer[v] + 1
						queue = append(queue, s.to)
					}
				}
			}
			var want []string
			edges := map[graph.EdgeID]int{}
			for v, l := range layer {
				want = append(want, fmt.Sprint(l, " v ", uint64(v)))
				for _, s := range steps(l, v) {
					if _, ok := layer[s.to]; ok {
						if known, ok := edges[s.e.ID]; !ok || l < known {
							edges[s.e.ID] = l
						}
					}
				}
			}
			for e, l := range edges {
				want = append(want, fmt.Sprint(l, " e ", uint64(e)))
			}
			res, err := n.e.Traverse(context.Background(), query.TypedRequest{Typed: &traverse.Subgraph{
				From: traverse.Selector{Property: "k", Values: starts}, Hops: hops, Max: uint32(depth),
			}})
			require.NoError(t, err)
			var got []string
			for {
				b, err := res.Next()
				require.NoError(t, err)
				if b == nil {
					break
				}
				for i := range b.N {
					if v := b.Cols[1].Value(i); !v.IsNull() {
						got = append(got, fmt.Sprint(b.Cols[0].Value(i).Int(), " v ", uint64(v.Vertex())))
					} else {
						got = append(got, fmt.Sprint(b.Cols[0].Value(i).Int(), " e ", uint64(b.Cols[2].Value(i).EdgeID())))
					}
				}
			}
			sources := 0
			for _, l := range layer {
				if l == 0 {
					sources++
				}
			}
			require.EqualValues(t, sources, res.Summary().Hops[0].Sources)
			res.Close()
			require.ElementsMatch(t, want, got, "%+v from %v", hops, starts)
		}
	}
}

// TestCapsAndBudgets checks that caps and budgets omit exactly what they specify.
func TestCapsAndBudgets(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	n := newNetwork(t, rnd, 30, 300)
	from := traverse.Selector{Label: "N", Property: "k", Values: []graph.Value{graph.IntValue(0)}}
	base := traverse.Traversal{From: from, Hops: []traverse.Hop{{Direction: graph.Both}}, Max: 2, Mode: plan.ModeFrontier, Returns: "elementId(startNode(e)), elementId(e)"}
	all, s := n.ask(t, &base, query.Limits{})
	require.Len(t, s.Hops, 2)
	require.EqualValues(t, len(all), s.Hops[1].Edges)

	capped := base
	capped.Hops = []traverse.Hop{{Direction: graph.Both, MaxDegree: 2}}
	_, s = n.ask(t, &capped, query.Limits{})
	require.EqualValues(t, 2, s.Hops[0].Edges)
	require.LessOrEqual(t, s.Hops[1].Edges, int64(4))

	capped.Hops = []traverse.Hop{{Direction: graph.Both, Limit: 7}}
	got, s := n.ask(t, &capped, query.Limits{})
	require.Len(t, got, 7)
	require.EqualValues(t, 7, s.Hops[0].Edges)
	require.Subset(t, all, got)

	limited := base
	limited.Limit = 5
	got, _ = n.ask(t, &limited, query.Limits{})
	require.Len(t, got, 5)

	for _, mode := range []plan.TraverseMode{plan.ModeFrontier, plan.ModeWalk, plan.ModeTrail, plan.ModeAcyclic, plan.ModeNearest} {
		vertices := base
		vertices.Mode, vertices.Returns, vertices.Partial = mode, "vertices", true
		got, s = n.ask(t, &vertices, query.Limits{Rows: 3, Partial: true})
		require.Len(t, got, 3)
		require.True(t, s.Truncated)
		require.Len(t, s.Hops, 2)

		_, s = n.ask(t, &vertices, query.Limits{Bytes: 100, Partial: true})
		require.Contains(t, s.Reason, "needs more than 100 bytes")
		vertices.Returns = "count"
		_, s = n.ask(t, &vertices, query.Limits{Bytes: 100, Partial: true})
		require.Contains(t, s.Reason, "needs more than 100 bytes")

		_, s = n.ask(t, &vertices, query.Limits{Visits: 40, Partial: true})
		require.Contains(t, s.Reason, "visited more than 40 edges")
		require.LessOrEqual(t, s.Hops[0].Edges+s.Hops[1].Edges, int64(40))
		require.Less(t, s.Hops[1].Sources, s.Hops[0].Edges)
	}
	for _, limits := range []query.Limits{{Visits: 150}, {Rows: 11}} {
		res, err := n.e.Traverse(context.Background(), query.TypedRequest{Typed: &base, Limits: limits})
		require.NoError(t, err)
		for b := (&graph.Batch{}); b != nil && err == nil; {
			b, err = res.Next()
		}
		res.Close()
		require.ErrorContains(t, err, "budget of max-")
		limits.Partial = true
		got, s := n.ask(t, &base, limits)
		require.True(t, s.Truncated)
		require.Contains(t, s.Reason, "budget of max-")
		require.Less(t, len(got), len(all))
		require.Subset(t, all, got)
		count := base
		count.Returns, count.Partial = "count", true
		got, s = n.ask(t, &count, limits)
		require.NotContains(t, got, "0", "%+v", limits)
		if limits.Visits > 0 {
			require.True(t, s.Truncated)
		}
	}
}
