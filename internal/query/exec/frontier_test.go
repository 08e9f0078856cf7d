package exec

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/search"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// frontierSize counts the vertices that the hops lead to.
func (w *world) frontierSize(from map[int]bool, hops []plan.Hop) int {
	for _, h := range hops {
		next := map[int]bool{}
		for v := range from {
			for e := range w.edges {
				if to, ok := w.head(e, v, h.Types, h.Dir); ok && w.labelled(to, h.Labels) && w.passes(h, e, to) {
					next[to] = true
				}
			}
		}
		from = next
	}
	return len(from)
}

// trailEnds counts the ends of the trails along the hops, by following them all.
func (w *world) trailEnds(from map[int]bool, hops []plan.Hop) int {
	ends := map[int]bool{}
	var walk func(v int, hops []plan.Hop, used []int)
	walk = func(v int, hops []plan.Hop, used []int) {
		if len(hops) == 0 {
			ends[v] = true
			return
		}
		for e := range w.edges {
			to, ok := w.head(e, v, hops[0].Types, hops[0].Dir)
			if ok && w.labelled(to, hops[0].Labels) && w.passes(hops[0], e, to) && !slices.Contains(used, e) {
				walk(to, hops[1:], append(slices.Clip(used), e))
			}
		}
	}
	for v := range from {
		walk(v, hops, nil)
	}
	return len(ends)
}

// reached counts the ends of the trails of least to most repetitions of a hop.
func (w *world) reached(from map[int]bool, hop plan.Hop, least, most int) int {
	ends := map[int]bool{}
	var walk func(v, made int, used []int)
	walk = func(v, made int, used []int) {
		if made >= least && w.labelled(v, hop.Labels) {
			ends[v] = true
		}
		for e := range w.edges {
			if to, ok := w.head(e, v, hop.Types, hop.Dir); ok && made < most && w.passes(hop, e, to) && !slices.Contains(used, e) {
				walk(to, made+1, append(slices.Clip(used), e))
			}
		}
	}
	for v := range from {
		walk(v, 0, nil)
	}
	return len(ends)
}

// passes tests the conditions of a hop, x > y each, on edge e to vertex to.
func (w *world) passes(h plan.Hop, e, to int) bool {
	value := func(x plan.Expr) graph.Value {
		switch p, ok := x.(*plan.Prop); {
		case !ok:
			return x.(*plan.Const).Value
		case p.Key == "w":
			return w.edges[e].w
		}
		return w.vertices[to].n
	}
	for _, p := range h.Where {
		args := p.(*plan.Op).Args
		if x, y := value(args[0]), value(args[1]); x.IsNull() || y.IsNull() || x.Int() <= y.Int() {
			return false
		}
	}
	return true
}

// someWhere adds conditions to a hop, on its edge and, if asked, on its far vertex.
func someWhere(rng *rand.Rand, q *plan.Query, h *plan.Hop, vertex bool) {
	h.Edge = q.NewCol("e", graph.EdgeKind)
	weight := &plan.Prop{X: &plan.ColRef{Col: h.Edge}, Key: "w"}
	add := func(x, y plan.Expr) { h.Where = append(h.Where, &plan.Op{Op: plan.Gt, Args: []plan.Expr{x, y}}) }
	if rng.IntN(2) == 0 {
		add(weight, intConst(rng.IntN(4)))
	}
	if !vertex {
		return
	}
	h.To = q.NewCol("b", graph.VertexKind)
	n := &plan.Prop{X: &plan.ColRef{Col: h.To}, Key: "n"}
	switch rng.IntN(4) {
	case 0:
		add(n, intConst(rng.IntN(2)))
	case 1:
		add(weight, n)
	}
}

func someHops(rng *rand.Rand) []plan.Hop {
	var hops []plan.Hop
	same := rng.IntN(2) == 0
	for range 1 + rng.IntN(4) {
		if same && len(hops) > 0 {
			hops = append(hops, hops[0])
			continue
		}
		hops = append(hops, plan.Hop{Types: someTypes(rng), Dir: someDirection(rng), Labels: someLabels(rng)})
	}
	return hops
}

func TestFrontierCountIsRight(t *testing.T) { worlds(t, 1000, checkFrontierCount) }

func checkFrontierCount(t *testing.T, rng *rand.Rand, w *world, batch int) {
	q := &plan.Query{}
	a, n := q.NewCol("a", graph.VertexKind), q.NewCol("n", graph.Null)
	x := &plan.FrontierCount{
		Input: &plan.Scan{Input: &plan.Unit{}, Out: a, Labels: someLabels(rng)}, From: a, Out: n, Hops: someHops(rng),
		Trail: rng.IntN(3) > 0,
	}
	size := w.frontierSize
	trails := x.Trail || rng.IntN(2) == 0
	if rng.IntN(2) == 0 {
		for i := range x.Hops {
			someWhere(rng, q, &x.Hops[i], trails)
		}
	}
	switch {
	case x.Trail:
		size = w.trailEnds
	case !trails:
		x.Hops, x.Least, x.Most = x.Hops[:1], rng.IntN(2), 2+rng.IntN(3)
		size = func(from map[int]bool, hops []plan.Hop) int { return w.reached(from, hops[0], x.Least, x.Most) }
	}
	q.Root = x
	all := map[int]bool{}
	want := []string{}
	for _, r := range w.rows(x.Input) {
		all[r.v[a]] = true
		want = append(want, fmt.Sprintf("v%d %d", r.v[a], size(map[int]bool{r.v[a]: true}, x.Hops)))
	}
	slices.Sort(want)
	q.Out = []plan.Col{a, n}
	// In a subplan, the rows that are counted together are those of one outer row.
	require.Equal(t, want, w.runInSubplan(t, q, batch), "%s", plan.Format(q))
	q.Out = []plan.Col{n}
	require.Equal(t, []string{strconv.Itoa(size(all, x.Hops))}, w.run(t, q, batch), "%s", plan.Format(q))
}

// Large frontiers are walked as bitmaps, from which a breadth-first search and its ends must not differ either.
func TestManyVertices(t *testing.T) {
	defer func(n int) { search.ManyVertices = n }(search.ManyVertices)
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 3))
		search.ManyVertices = 1 + rng.IntN(10)
		n := 10 + rng.IntN(30)
		w := newWorld(t, rng, 1+2*int(seed%2), n, n+rng.IntN(2*n))
		q := &plan.Query{}
		a, count, b := q.NewCol("a", graph.VertexKind), q.NewCol("n", graph.Null), q.NewCol("b", graph.VertexKind)
		scan := &plan.Scan{Input: &plan.Unit{}, Out: a, Labels: &plan.LabelExpr{Op: plan.LabelName, Name: "A"}}
		hops := []plan.Hop{{}, {Types: []string{"R"}, Dir: graph.In, Labels: &plan.LabelExpr{Op: plan.LabelName, Name: "B"}}, {Dir: graph.Both}}
		q.Root = &plan.FrontierCount{Input: scan, From: a, Out: count, Hops: hops}
		q.Out = []plan.Col{count}
		all := map[int]bool{}
		for _, r := range w.rows(scan) {
			all[r.v[a]] = true
		}
		require.Equal(t, []string{strconv.Itoa(w.frontierSize(all, hops))}, w.run(t, q, 1024))
		for _, trail := range []bool{false, true} {
			size := w.frontierSize
			if trail {
				size = w.trailEnds
			}
			hops := []plan.Hop{{}, {Dir: graph.Both}, {}}
			for i := range hops {
				someWhere(rng, q, &hops[i], true)
			}
			q.Root = &plan.FrontierCount{Input: scan, From: a, Out: count, Hops: hops, Trail: trail}
			require.Equal(t, []string{strconv.Itoa(size(all, hops))}, w.run(t, q, 1024), "%s", plan.Format(q))
		}

		for _, hops := range [][]plan.Hop{
			{{}, {}, {}},
			{{Dir: graph.Both}, {Dir: graph.Both}},
			{{Dir: graph.In}, {}, {Dir: graph.In}},
			{{Types: []string{"R"}}, {Dir: graph.Both, Labels: &plan.LabelExpr{Op: plan.LabelName, Name: "B"}}},
		} {
			q.Root = &plan.FrontierCount{Input: scan, From: a, Out: count, Hops: hops, Trail: true}
			require.Equal(t, []string{strconv.Itoa(w.trailEnds(all, hops))}, w.run(t, q, 1024))
		}

		for _, dir := range []graph.Direction{graph.Out, graph.In, graph.Both} {
			hop := plan.Hop{Dir: dir}
			q.Root = &plan.FrontierCount{
				Input: &plan.SeekID{Input: &plan.Unit{}, Out: a, Key: &plan.Const{Value: graph.IntValue(int64(w.vid[3]))}},
				From:  a, Out: count, Hops: []plan.Hop{hop}, Least: int(seed % 2), Most: 4,
			}
			q.Out = []plan.Col{count}
			require.Equal(t, []string{strconv.Itoa(w.reached(map[int]bool{3: true}, hop, int(seed%2), 4))}, w.run(t, q, 1024))
		}
		for _, dir := range []graph.Direction{graph.Out, graph.Both} {
			q.Root = &plan.VarExpand{
				Input: &plan.SeekID{Input: &plan.Unit{}, Out: a, Key: &plan.Const{Value: graph.IntValue(int64(w.vid[3]))}},
				From:  a, To: b, Dir: dir, Min: intConst(1), Ends: true,
			}
			q.Out = []plan.Col{b}
			reached := map[int]bool{}
			for now := []int{3}; len(now) > 0; {
				var next []int
				for e := range w.edges {
					for _, v := range now {
						if to, ok := w.head(e, v, nil, dir); ok && !reached[to] {
							reached[to] = true
							next = append(next, to)
						}
					}
				}
				now = next
			}
			// Whether a trail leads back to the start is for TestVarExpandEndsIsRight.
			delete(reached, 3)
			got := slices.DeleteFunc(w.run(t, q, 1024), func(row string) bool { return row == "v3" })
			require.Len(t, got, len(reached))
		}
	}
}
