package exec

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Seeks of edges find the same as a filter over all edges.
func TestSeekEdgesIsRight(t *testing.T) {
	worlds(t, 400, func(t *testing.T, rng *rand.Rand, w *world, batch int) {
		w.tx.Rollback()
		require.NoError(t, w.g.CreateIndex(ctx, graph.Index{Name: "e", Type: "R", Props: []string{"w"}, Indexed: true}))
		var err error
		w.tx, err = w.g.Begin(ctx, 0)
		require.NoError(t, err)
		ix := w.g.Indexes()[len(w.g.Indexes())-1]
		q := &plan.Query{}
		a, r := q.NewCol("a", graph.VertexKind), q.NewCol("r", graph.EdgeKind)
		q.Out = []plan.Col{a, r}
		scan := &plan.Scan{Input: &plan.Unit{}, Out: a}
		all := &plan.Expand{Input: &plan.Scan{Input: &plan.Unit{}, Out: a}, From: a, Edge: r, To: q.NewCol("b", graph.VertexKind), Types: []string{"R"}}
		nr := &plan.Prop{X: &plan.ColRef{Col: r}, Key: "w"}
		// same compares the seek with a filter over all edges.
		same := func(seek plan.Node, pred plan.Expr) {
			t.Helper()
			q.Out = []plan.Col{r}
			q.Root = seek
			got := w.run(t, q, batch)
			q.Root = &plan.Filter{Input: all, Preds: []plan.Expr{pred}}
			require.Equal(t, w.run(t, q, batch), got)
		}
		key := &plan.Const{Value: graph.IntValue(rng.Int64N(5))}
		same(&plan.SeekEdges{Input: &plan.Unit{}, Out: r, Index: ix, Keys: []plan.Expr{key}}, &plan.Op{Op: plan.Eq, Args: []plan.Expr{nr, key}})
		list := &plan.Const{Value: graph.ListValue([]graph.Value{key.Value, graph.FloatValue(1), key.Value, {}})}
		same(&plan.SeekEdges{Input: &plan.Unit{}, Out: r, Index: ix, Keys: []plan.Expr{list}, Each: true}, &plan.Op{Op: plan.In, Args: []plan.Expr{nr, list}})
		lo, hi := &plan.Const{Value: graph.IntValue(rng.Int64N(3))}, &plan.Const{Value: graph.FloatValue(float64(rng.IntN(5)) + 0.5)}
		same(&plan.SeekEdgeRange{Input: &plan.Unit{}, Out: r, Index: ix, Lo: lo, Hi: hi, LoOpen: true}, &plan.Op{Op: plan.And, Args: []plan.Expr{
			&plan.Op{Op: plan.Gt, Args: []plan.Expr{nr, lo}}, &plan.Op{Op: plan.Le, Args: []plan.Expr{nr, hi}},
		}})

		// For each vertex, the edges whose property is that of the vertex, or more.
		for _, more := range []bool{false, true} {
			q.Out = []plan.Col{a, r}
			q.Root = &plan.SeekEdges{Input: scan, Out: r, Index: ix, Keys: []plan.Expr{nOf(a)}}
			if more {
				q.Root = &plan.SeekEdgeRange{Input: scan, Out: r, Index: ix, Lo: nOf(a)}
			}
			got := w.run(t, q, batch)
			var want []string
			for v := range w.vertices {
				for i, e := range w.edges {
					ok := fn.Equal(e.w, w.n(v)) == fn.True || more && fn.Greater(e.w, w.n(v)) == fn.True
					if ok && e.typ == "R" {
						want = append(want, fmt.Sprint(w.show(graph.VertexValue(w.vid[v])), " ", fmt.Sprintf("e%d", i)))
					}
				}
			}
			slices.Sort(want)
			require.ElementsMatch(t, want, got)
		}
	})
}
