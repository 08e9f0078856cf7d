package exec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// keysOf returns values to compare with ids: the ids of half of the elements, ids of none, and values that no id equals.
func (w *world) keysOf(rng *rand.Rand, element, edge bool) []graph.Value {
	vs := []graph.Value{
		{},
		graph.IntValue(-1), graph.IntValue(1 << 40), graph.IntValue(math.MaxInt64), graph.FloatValue(0.5), graph.FloatValue(math.NaN()),
		graph.BoolValue(true), graph.StringValue(""), graph.StringValue("v0:"), graph.StringValue("v00:1"), graph.StringValue("e0:1:0:0"),
		graph.StringValue("e0:1:00:1:1"), graph.StringValue("e0:0:0:0:99"), graph.StringValue("e9:1:ffffffffffffffff:1:1"), graph.StringValue("v65535:7"),
		graph.ListValue([]graph.Value{graph.IntValue(1)}),
	}
	add := func(n uint64, text []byte) {
		switch {
		case rng.IntN(2) == 0:
		case element:
			vs = append(vs, graph.StringValue(string(text)))
		case rng.IntN(3) == 0:
			vs = append(vs, graph.FloatValue(float64(n)))
		default:
			vs = append(vs, graph.IntValue(int64(n)))
		}
	}
	if !edge {
		for _, v := range w.vid {
			add(uint64(v), graph.AppendVertexElementID(nil, v))
		}
	} else {
		for id, i := range w.enum {
			e := graph.Edge{ID: id, Src: w.vid[w.edges[i].src], Dst: w.vid[w.edges[i].dst]}
			e.Type, _ = w.g.Type(w.edges[i].typ)
			if rng.IntN(8) == 0 {
				e.Dst++ // the rest of its element id must match too
			}
			add(uint64(id), graph.AppendEdgeElementID(nil, e))
		}
	}
	rng.Shuffle(len(vs), func(i, j int) { vs[i], vs[j] = vs[j], vs[i] })
	return append(vs, vs[:rng.IntN(len(vs))]...)
}

// A look-up by ids finds the same as a filter, for one key, for lists and for a key from each row.
func TestSeekIDIsAFilter(t *testing.T) {
	worlds(t, 200, func(t *testing.T, rng *rand.Rand, w *world, batch int) {
		if rng.IntN(8) == 0 {
			w = newStoredWorld(t, rng, 1+rng.IntN(3), 6, 14)
		}
		q := &plan.Query{}
		out := [2]plan.Col{q.NewCol("v", graph.VertexKind), q.NewCol("e", graph.EdgeKind)}
		x, a, b := q.NewCol("x", graph.Null), q.NewCol("a", graph.VertexKind), q.NewCol("b", graph.VertexKind)
		for i := range 8 {
			element, edge, each := i&1 > 0, i&2 > 0, i&4 > 0
			name, col := "id", out[0]
			if element {
				name = "elementid"
			}
			keys := w.keysOf(rng, element, edge)
			var types []string
			if edge {
				col = out[1]
				types = [][]string{nil, {"R"}, {"S", "T"}, {"none"}}[rng.IntN(4)]
			}
			all := func(input plan.Node) plan.Node {
				if !edge {
					return &plan.Scan{Input: input, Out: col}
				}
				return &plan.Expand{Input: &plan.Scan{Input: input, Out: a}, From: a, Edge: col, To: b, Types: types}
			}
			lists := []graph.Value{graph.ListValue(keys), graph.ListValue(nil), graph.ListValue(keys[:len(keys)/2]), {}, graph.ListValue(keys[len(keys)/2:])}
			rows, code := keys, plan.Eq
			if each {
				rows, code = lists, plan.In
			}
			id := &plan.Call{Func: name, Args: []plan.Expr{&plan.ColRef{Col: col}}}
			same := func(input plan.Node, key plan.Expr, cols ...plan.Col) {
				t.Helper()
				q.Out = append(cols, col)
				q.Root = &plan.Filter{Input: all(input), Preds: []plan.Expr{&plan.Op{Op: code, Args: []plan.Expr{id, key}}}}
				want := w.run(t, q, batch)
				q.Root = &plan.SeekID{Input: input, Out: col, Key: key, Element: element, Each: each, Edge: edge, Types: types}
				require.Equal(t, want, w.run(t, q, batch), fmt.Sprint(element, edge, each, types, w.showAll(rows)))
			}
			for _, v := range rows[:3] {
				same(&plan.Unit{}, &plan.Const{Value: v})
			}
			same(&plan.Unwind{Input: &plan.Unit{}, List: &plan.Const{Value: graph.ListValue(rows)}, Out: x}, &plan.ColRef{Col: x}, x)
		}
	})
}
