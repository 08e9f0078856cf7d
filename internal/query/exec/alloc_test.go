package exec

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/alloctest"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// The operators of the hot path allocate nothing per row: their allocations in a run are for buffers and tables.
func TestOperatorsAllocateNothingARow(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	tx, g := newCSR(rng, 2000, 20_000)
	var ids []graph.VertexID
	for range 1000 {
		ids = append(ids, graph.VertexID(rng.IntN(2000)))
	}
	const least = 50_000 // rows that each plan scans
	prop := func(c plan.Col, key string) plan.Expr { return &plan.Prop{X: ref(c), Key: key} }
	type chained struct {
		*plan.Query
		a, b plan.Col // where it begins, and the ends of two hops
	}
	for name, build := range map[string]func(c chained){
		"expand": func(c chained) { c.Out = []plan.Col{c.b} },
		"expand where": func(c chained) {
			x := c.Root.(*plan.Expand)
			x.Edge = c.NewCol("e", graph.EdgeKind)
			x.Where = []plan.Expr{heavier(x.Edge, intConst(5)), op(plan.Gt, prop(c.b, "n"), intConst(5))}
			c.Out = []plan.Col{c.b}
		},
		"filter": func(c chained) {
			c.Root, c.Out = &plan.Filter{Input: c.Root, Preds: []plan.Expr{op(plan.Gt, prop(c.b, "n"), intConst(5))}}, []plan.Col{c.b}
		},
		"project": func(c chained) {
			n := c.NewCol("n", graph.Null)
			c.Root = &plan.Project{Input: c.Root, Items: []plan.Item{{Col: n, Expr: op(plan.Add, prop(c.b, "n"), intConst(1))}}}
			c.Out = []plan.Col{n}
		},
		"count": func(c chained) {
			n := c.NewCol("n", graph.Null)
			c.Root, c.Out = &plan.Aggregate{Input: c.Root, Aggs: []plan.Agg{{Col: n, Func: "count"}}}, []plan.Col{n}
		},
		"sum by key": func(c chained) {
			k, n := c.NewCol("k", graph.Null), c.NewCol("n", graph.Null)
			c.Root = &plan.Aggregate{
				Input: c.Root, Keys: []plan.Item{{Col: k, Expr: prop(c.b, "n")}},
				Aggs: []plan.Agg{{Col: n, Func: "sum", Args: []plan.Expr{prop(c.b, "n")}}},
			}
			c.Out = []plan.Col{k, n}
		},
		"distinct": func(c chained) {
			c.Root, c.Out = &plan.Distinct{Input: c.Root, Cols: []plan.Col{c.b}}, []plan.Col{c.b}
		},
		"top": func(c chained) {
			c.Root = &plan.Sort{
				Input: c.Root, Keys: []plan.SortKey{{Expr: prop(c.b, "n"), Desc: true}}, Limit: intConst(10),
			}
			c.Out = []plan.Col{c.b}
		},
		"variable length": func(c chained) {
			x := &plan.VarExpand{
				Input: &plan.Scan{Input: &plan.Unit{}, Out: c.a}, From: c.a, To: c.b, Types: []string{"R"}, Min: intConst(1), Max: intConst(2),
			}
			c.Root, c.Out = x, []plan.Col{c.b}
		},
		"frontier": func(c chained) {
			n := c.NewCol("n", graph.Null)
			hop := plan.Hop{Types: []string{"R"}, Edge: c.NewCol("e", graph.EdgeKind), To: c.NewCol("x", graph.VertexKind)}
			hop.Where = []plan.Expr{heavier(hop.Edge, intConst(5)), op(plan.Gt, prop(hop.To, "n"), intConst(5))}
			c.Root = &plan.FrontierCount{
				Input: &plan.Scan{Input: &plan.Unit{}, Out: c.a}, From: c.a, Out: n, Hops: slices.Repeat([]plan.Hop{hop}, 5),
			}
			c.Out = []plan.Col{n}
		},
	} {
		t.Run(name, func(t *testing.T) {
			q, vertices := chain(2, false)
			build(chained{q, vertices[0], vertices[2]})
			x, r := overStarts(t, q, g, tx, ids)
			pullAll(t, x)
			require.Greater(t, r.Edges, int64(least))
			require.Less(t, alloctest.Least(3, func() { pullAll(t, x) }), least/500.0)
		})
	}
}
