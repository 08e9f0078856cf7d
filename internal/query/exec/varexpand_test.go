package exec

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// someVarExpand creates a variable length expansion, from the first vertex of a chain.
func someVarExpand(rng *rand.Rand, q *plan.Query, ends bool) plan.Node {
	root, vertices, edges := someChain(rng, q, rng.IntN(3))
	lo := rng.IntN(4)
	if ends {
		lo = []int{0, 0, 1, 1, 1, 2}[rng.IntN(6)]
	}
	x := &plan.VarExpand{
		Input: root, From: vertices[rng.IntN(len(vertices))], Types: someTypes(rng), Dir: someDirection(rng), Ends: ends,
		Min: intConst(lo), EdgeVar: q.NewCol("x", graph.EdgeKind), Reversed: rng.IntN(2) == 0,
	}
	if rng.IntN(4) > 0 {
		x.Max = intConst(rng.IntN(4))
	}
	if x.Into = rng.IntN(3) == 0; x.Into {
		x.To = vertices[rng.IntN(len(vertices))]
	} else {
		x.To = q.NewCol("v", graph.VertexKind)
		vertices = append(vertices, x.To)
	}
	if rng.IntN(2) == 0 {
		x.Labels = someLabels(rng)
	}
	for _, e := range edges {
		if rng.IntN(2) == 0 {
			x.DistinctFrom = append(x.DistinctFrom, e)
		}
	}
	switch rng.IntN(6) {
	case 0, 1:
		x.Where = append(x.Where, heavier(x.EdgeVar, intConst(rng.IntN(5))))
	case 2:
		x.Where = append(x.Where, heavier(x.EdgeVar, &plan.Prop{X: &plan.ColRef{Col: x.From}, Key: "n"}))
	}
	for _, c := range append(vertices, edges...) {
		if c == x.To || rng.IntN(3) > 0 {
			q.Out = append(q.Out, c)
		}
	}
	if !ends && rng.IntN(3) > 0 {
		x.Edges = q.NewCol("es", graph.List)
		q.Out = append(q.Out, x.Edges)
	}
	return x
}

// Trails equal those of the interpreter. An expansion after them must not repeat their edges.
func TestVarExpandIsRight(t *testing.T) { worlds(t, 1000, checkVarExpand) }

func checkVarExpand(t *testing.T, rng *rand.Rand, w *world, batch int) {
	if len(w.edges) > 9 { // the number of trails explodes
		w.edges = w.edges[:9]
		w.reload(t)
	}
	q := &plan.Query{}
	q.Root = someVarExpand(rng, q, false)
	x, _ := q.Root.(*plan.VarExpand)
	if x.Edges != 0 && rng.IntN(2) == 0 {
		to := q.NewCol("v", graph.VertexKind)
		q.Root = &plan.Expand{
			Input: x, From: x.To, Edge: q.NewCol("e", graph.EdgeKind), To: to, Dir: someDirection(rng), DistinctFrom: []plan.Col{x.Edges},
		}
		q.Out = append(q.Out, to)
	}
	want := w.want(q)
	require.Equal(t, want, w.run(t, q, batch), "%s", plan.Format(q))
	require.Equal(t, want, w.runInSubplan(t, q, batch), "%s", plan.Format(q))
}

// Each end appears once a row, by breadth-first search and by trails.
func TestVarExpandEndsIsRight(t *testing.T) { worlds(t, 1000, checkVarExpandEnds) }

func checkVarExpandEnds(t *testing.T, rng *rand.Rand, w *world, batch int) {
	if len(w.edges) > 9 {
		w.edges = w.edges[:9]
		w.reload(t)
	}
	q := &plan.Query{}
	q.Root = someVarExpand(rng, q, true)
	want := w.want(q)
	require.Equal(t, want, w.run(t, q, batch), "%s", plan.Format(q))
	require.Equal(t, want, w.runInSubplan(t, q, batch), "%s", plan.Format(q))
}

// A trail leads back to its start over an edge without direction only by another edge: a parallel one, or a loop.
func TestEndsBackAtTheStart(t *testing.T) {
	for _, c := range []struct {
		edges []worldEdge
		max   int
		want  []string
	}{
		{[]worldEdge{{src: 0, dst: 1, typ: "R"}}, 4, []string{"v1"}},
		{[]worldEdge{{src: 0, dst: 1, typ: "R"}, {src: 1, dst: 0, typ: "R"}}, 1, []string{"v1"}},
		{[]worldEdge{{src: 0, dst: 1, typ: "R"}, {src: 1, dst: 0, typ: "R"}}, 2, []string{"v0", "v1"}},
		{[]worldEdge{{src: 0, dst: 0, typ: "R"}}, 1, []string{"v0"}},
	} {
		w := &world{vnum: map[graph.VertexID]int{}, enum: map[graph.EdgeID]int{}}
		w.vertices, w.edges = make([]worldVertex, 2), c.edges
		w.load(t, 1)
		q := &plan.Query{}
		a, b := q.NewCol("a", graph.VertexKind), q.NewCol("b", graph.VertexKind)
		q.Root = &plan.VarExpand{
			Input: &plan.SeekID{Input: &plan.Unit{}, Out: a, Key: &plan.Const{Value: graph.IntValue(int64(w.vid[0]))}},
			From:  a, To: b, Dir: graph.Both, Min: intConst(1), Max: intConst(c.max), Ends: true,
		}
		q.Out = []plan.Col{b}
		require.Equal(t, c.want, w.run(t, q, 1024))
	}
}
