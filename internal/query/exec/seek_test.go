package exec

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// seekWorld is a world with an index over the property n of the label A.
func seekWorld(t *testing.T, rng *rand.Rand, w *world) graph.Index {
	require.NoError(t, w.g.CreateIndex(ctx, graph.Index{Name: "a", Label: "A", Props: []string{"n"}, Indexed: true}))
	for i := range w.vertices {
		if rng.IntN(4) == 0 {
			w.vertices[i].n = graph.FloatValue(float64(i%5) + float64(rng.IntN(2))/2)
		}
	}
	w.reload(t)
	require.NoError(t, w.g.CreateIndex(ctx, graph.Index{Name: "a", Label: "A", Props: []string{"n"}, Indexed: true}))
	var err error
	w.tx, err = w.g.Begin(ctx, 0)
	require.NoError(t, err)
	return w.g.Indexes()[0]
}

// pairs returns the rows of v0 with each v1 of the label A that satisfies ok.
func (w *world) pairs(ok func(a, b int) bool) []string {
	out := []string{}
	for a := range w.vertices {
		for b := range w.vertices {
			if slices.Contains(w.vertices[b].labels, "A") && ok(a, b) {
				out = append(out, w.show(graph.VertexValue(w.vid[a]))+" "+w.show(graph.VertexValue(w.vid[b])))
			}
		}
	}
	slices.Sort(out)
	return out
}

func (w *world) n(v int) graph.Value { return w.vertices[v].n }

func nOf(c plan.Col) plan.Expr { return &plan.Prop{X: &plan.ColRef{Col: c}, Key: "n"} }

func TestSeekIsRight(t *testing.T) {
	worlds(t, 400, func(t *testing.T, rng *rand.Rand, w *world, batch int) {
		ix := seekWorld(t, rng, w)
		q := &plan.Query{}
		a, b := q.NewCol("a", graph.VertexKind), q.NewCol("b", graph.VertexKind)
		q.Out = []plan.Col{a, b}
		scan := &plan.Scan{Input: &plan.Unit{}, Out: a}
		equal := func(x, y graph.Value) bool { return fn.Equal(x, y) == fn.True }

		q.Root = &plan.Seek{Input: scan, Out: b, Index: ix, Keys: []plan.Expr{nOf(a)}}
		require.Equal(t, w.pairs(func(a, b int) bool { return equal(w.n(a), w.n(b)) }), w.run(t, q, batch))

		key := graph.IntValue(rng.Int64N(5))
		q.Root = &plan.Seek{Input: scan, Out: b, Index: ix, Keys: []plan.Expr{&plan.Const{Value: key}}}
		require.Equal(t, w.pairs(func(_, b int) bool { return equal(key, w.n(b)) }), w.run(t, q, batch))

		// A list of keys finds each vertex once, whichever and however many of the keys are equal to its value.
		list := &plan.ListLit{Elems: []plan.Expr{nOf(a), &plan.Const{Value: key}, &plan.Const{}, &plan.Const{Value: graph.FloatValue(float64(key.Int()))}}}
		q.Root = &plan.Seek{Input: scan, Out: b, Index: ix, Keys: []plan.Expr{list}, Each: true}
		require.Equal(t, w.pairs(func(a, b int) bool { return equal(key, w.n(b)) || equal(w.n(a), w.n(b)) }), w.run(t, q, batch))

		keys := graph.ListValue([]graph.Value{key, key, graph.StringValue("x"), {}})
		q.Root = &plan.Seek{Input: scan, Out: b, Index: ix, Keys: []plan.Expr{&plan.Const{Value: keys}}, Each: true}
		require.Equal(t, w.pairs(func(_, b int) bool { return equal(key, w.n(b)) }), w.run(t, q, batch))
	})
}

func TestSeekRangeIsRight(t *testing.T) {
	less := func(x, y graph.Value, open bool) bool {
		return fn.Less(x, y) == fn.True || !open && fn.Equal(x, y) == fn.True
	}
	worlds(t, 400, func(t *testing.T, rng *rand.Rand, w *world, batch int) {
		ix := seekWorld(t, rng, w)
		q := &plan.Query{}
		a, b := q.NewCol("a", graph.VertexKind), q.NewCol("b", graph.VertexKind)
		q.Out = []plan.Col{a, b}
		scan := &plan.Scan{Input: &plan.Unit{}, Out: a}
		loOpen, hiOpen := rng.IntN(2) == 0, rng.IntN(2) == 0
		hi := graph.IntValue(rng.Int64N(5))

		q.Root = &plan.SeekRange{Input: scan, Out: b, Index: ix, Lo: nOf(a), LoOpen: loOpen}
		require.Equal(t, w.pairs(func(a, b int) bool { return less(w.n(a), w.n(b), loOpen) }), w.run(t, q, batch))

		q.Root = &plan.SeekRange{Input: scan, Out: b, Index: ix, Lo: nOf(a), Hi: &plan.Const{Value: hi}, LoOpen: loOpen, HiOpen: hiOpen}
		require.Equal(t, w.pairs(func(a, b int) bool {
			return less(w.n(a), w.n(b), loOpen) && less(w.n(b), hi, hiOpen)
		}), w.run(t, q, batch))

		q.Root = &plan.SeekRange{Input: scan, Out: b, Index: ix, Hi: &plan.Const{Value: hi}, HiOpen: hiOpen}
		require.Equal(t, w.pairs(func(_, b int) bool { return less(w.n(b), hi, hiOpen) }), w.run(t, q, batch))

		// Nothing lies between null and anything, or between a number and a text, or begins with a number.
		for _, x := range []plan.SeekRange{
			{Lo: &plan.Const{}, Hi: &plan.Const{Value: hi}},
			{Hi: &plan.Const{}},
			{Lo: &plan.Const{Value: hi}, Hi: &plan.Const{Value: graph.StringValue("x")}},
			{Lo: &plan.Const{Value: hi}, Prefix: true},
		} {
			x.Input, x.Out, x.Index = scan, b, ix
			q.Root = &x
			require.Empty(t, w.run(t, q, batch))
		}
	})
}

// An index read in order, with the vertices that lack the property at either end, equals a sort of the label's vertices.
func TestIndexOrderIsRight(t *testing.T) {
	worlds(t, 200, func(t *testing.T, rng *rand.Rand, w *world, batch int) {
		ix := seekWorld(t, rng, w)
		q := &plan.Query{}
		a, n := q.NewCol("a", graph.VertexKind), q.NewCol("n", 0)
		q.Out = []plan.Col{a, n}
		rows := func(from plan.Node) [][]graph.Value {
			q.Root = &plan.Project{Input: from, Items: []plan.Item{{Col: a, Expr: &plan.ColRef{Col: a}}, {Col: n, Expr: nOf(a)}}}
			return w.inOrder(t, q, batch)
		}
		for _, down := range []bool{false, true} {
			for _, missing := range []plan.Missing{plan.MissingNowhere, plan.MissingFirst, plan.MissingLast} {
				sort := &plan.Sort{
					Input: &plan.Scan{Input: &plan.Unit{}, Out: a, Labels: &plan.LabelExpr{Op: plan.LabelName, Name: "A"}},
					Keys: []plan.SortKey{
						{Expr: &plan.Op{Op: plan.IsNull, Args: []plan.Expr{nOf(a)}}, Desc: missing == plan.MissingFirst}, {Expr: nOf(a), Desc: down},
					},
				}
				if missing == plan.MissingNowhere {
					sort.Input = &plan.Filter{Input: sort.Input, Preds: []plan.Expr{&plan.Op{Op: plan.IsNotNull, Args: []plan.Expr{nOf(a)}}}}
				}
				want := rows(sort)
				got := rows(&plan.SeekRange{Input: &plan.Unit{}, Out: a, Index: ix, Down: down, Missing: missing})
				require.Len(t, got, len(want))
				for i := range want {
					require.Zero(t, fn.Order(want[i][1], got[i][1]), "row %d of %v, down %v", i, want, down)
				}
				first := func(x, y []graph.Value) int { return fn.Order(x[0], y[0]) }
				slices.SortFunc(want, first)
				slices.SortFunc(got, first)
				for i := range want {
					require.Equal(t, w.showAll(want[i]), w.showAll(got[i]))
				}
			}
		}
	})
}

func TestSeekIDIsRight(t *testing.T) {
	worlds(t, 100, func(t *testing.T, rng *rand.Rand, w *world, batch int) {
		q := &plan.Query{}
		a, b := q.NewCol("a", graph.VertexKind), q.NewCol("b", graph.VertexKind)
		q.Out = []plan.Col{a, b}
		want := []string{}
		for i := range w.vertices {
			v := w.show(graph.VertexValue(w.vid[i]))
			want = append(want, v+" "+v)
		}
		slices.Sort(want)
		for _, name := range []string{"id", "elementId"} {
			q.Root = &plan.SeekID{
				Input: &plan.Scan{Input: &plan.Unit{}, Out: a}, Out: b, Element: name == "elementId",
				Key: &plan.Call{Func: strings.ToLower(name), Args: []plan.Expr{&plan.ColRef{Col: a}}},
			}
			require.Equal(t, want, w.run(t, q, batch))
		}
		for _, v := range []graph.Value{{}, graph.IntValue(-1), graph.IntValue(1 << 40), graph.StringValue("x"), graph.FloatValue(0.5)} {
			q.Root = &plan.SeekID{Input: &plan.Unit{}, Out: b, Key: &plan.Const{Value: v}}
			q.Out = []plan.Col{b}
			require.Empty(t, w.run(t, q, batch))
		}
	})
}
