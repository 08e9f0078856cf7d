package exec

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// somePairs returns pairs of vertices, distinct ones if asked.
func somePairs(rng *rand.Rand, q *plan.Query, differ bool) (root plan.Node, a, b plan.Col) {
	a, b = q.NewCol("a", graph.VertexKind), q.NewCol("b", graph.VertexKind)
	root = &plan.Scan{Input: &plan.Scan{Input: &plan.Unit{}, Out: a, Labels: someLabels(rng)}, Out: b}
	if differ {
		root = &plan.Filter{Input: root, Preds: []plan.Expr{
			&plan.Op{Op: plan.Ne, Args: []plan.Expr{&plan.ColRef{Col: a}, &plan.ColRef{Col: b}}},
		}}
	}
	return root, a, b
}

// All shortest paths equal those of the interpreter. A single one is among them, for every pair that has any.
func TestShortestPathIsRight(t *testing.T) { worlds(t, 1000, checkShortestPath) }

func checkShortestPath(t *testing.T, rng *rand.Rand, w *world, batch int) {
	if len(w.edges) > 9 { // the number of trails explodes
		w.edges = w.edges[:9]
		w.reload(t)
	}
	q := &plan.Query{}
	lo := []int{0, 1, 1, 1, 2}[rng.IntN(5)]
	root, a, b := somePairs(rng, q, lo > 0)
	x := &plan.ShortestPath{
		Input: root, From: a, To: b, Types: someTypes(rng), Dir: someDirection(rng), Min: intConst(lo),
		Path: q.NewCol("p", graph.PathKind), Edges: q.NewCol("es", graph.List), EdgeVar: q.NewCol("x", graph.EdgeKind),
		All: true,
	}
	if rng.IntN(2) == 0 {
		x.Max = intConst(rng.IntN(5))
	}
	switch rng.IntN(6) {
	case 0, 1:
		x.Where = append(x.Where, heavier(x.EdgeVar, intConst(rng.IntN(5))))
	case 2:
		x.Where = append(x.Where, heavier(x.EdgeVar, &plan.Prop{X: &plan.ColRef{Col: a}, Key: "n"}))
	}
	if rng.IntN(3) == 0 {
		x.PathWhere = []plan.Expr{&plan.Op{Op: plan.Gt, Args: []plan.Expr{
			&plan.Call{Func: "length", Args: []plan.Expr{&plan.ColRef{Col: x.Path}}}, intConst(rng.IntN(4)),
		}}}
	}
	q.Root = x
	q.Out = []plan.Col{a, b, x.Path, x.Edges}
	want := w.want(q)
	require.Equal(t, want, w.run(t, q, batch), "%s", plan.Format(q))
	require.Equal(t, want, w.runInSubplan(t, q, batch), "%s", plan.Format(q))

	// The same with a single path.
	single := *x
	single.All = false
	q.Root = &single
	got := w.run(t, q, batch)
	pairs := func(rows []string) []string {
		var out []string
		for _, r := range rows {
			f := strings.Fields(r)
			out = append(out, f[0]+" "+f[1])
		}
		return slices.Compact(out)
	}
	require.Equal(t, pairs(want), pairs(got), "%s", plan.Format(q))
	require.Len(t, got, len(pairs(want)))
	for _, row := range got {
		require.Contains(t, want, row, "%s", plan.Format(q))
	}
}

// A pattern without a star is a path of one edge, bound to the edge itself.
func TestShortestPathOfOneEdge(t *testing.T) {
	worlds(t, 200, func(t *testing.T, rng *rand.Rand, w *world, batch int) {
		q := &plan.Query{}
		root, a, b := somePairs(rng, q, true)
		x := &plan.ShortestPath{
			Input: root, From: a, To: b, Types: someTypes(rng), Dir: someDirection(rng), Min: intConst(1), Max: intConst(1),
			Edge: q.NewCol("e", graph.EdgeKind), All: true,
		}
		q.Root = x
		q.Out = []plan.Col{a, x.Edge, b}
		require.Equal(t, w.want(q), w.run(t, q, batch), "%s", plan.Format(q))
	})
}

// A path of at least one edge between a vertex and itself is refused, as in Neo4j.
func TestShortestPathRefusesOneVertex(t *testing.T) {
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), 1, 3, 3)
	q := &plan.Query{}
	a := q.NewCol("a", graph.VertexKind)
	q.Root = &plan.ShortestPath{Input: &plan.Scan{Input: &plan.Unit{}, Out: a}, From: a, To: a, Min: intConst(1)}
	p, err := Compile(q, Options{})
	require.NoError(t, err)
	rows, err := p.Run(ctx, w.g, w.tx, runtime.Env{})
	require.NoError(t, err)
	_, err = rows.Next(ctx)
	var e *graph.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "SameStartAndEndNode", e.Detail)
}
