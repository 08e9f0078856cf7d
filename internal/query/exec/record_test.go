package exec

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Vertices and edges in a result have their records, at any nesting: labels in order of creation, properties in order of name.
func TestRecordsAreFilledIn(t *testing.T) {
	w := &world{vnum: map[graph.VertexID]int{}, enum: map[graph.EdgeID]int{}}
	w.vertices = []worldVertex{{labels: []string{"A", "B"}, n: graph.IntValue(7)}, {labels: []string{"B"}}}
	w.edges = []worldEdge{{src: 0, dst: 1, typ: "R", w: graph.IntValue(5)}}
	w.load(t, 3)

	q := &plan.Query{}
	a, b := q.NewCol("a", graph.VertexKind), q.NewCol("b", graph.VertexKind)
	e, x := q.NewCol("e", graph.EdgeKind), q.NewCol("x", graph.Null)
	expand := &plan.Expand{Input: &plan.Scan{Input: &plan.Unit{}, Out: a}, From: a, Edge: e, To: b}
	q.Root = &plan.Project{Input: expand, Keep: true, Items: []plan.Item{{Col: x, Expr: &plan.ListLit{Elems: []plan.Expr{
		&plan.MapLit{Keys: []string{"k"}, Elems: []plan.Expr{&plan.ColRef{Col: b}}}, &plan.MakePath{Cols: []plan.Col{a, e, b}},
		&plan.Const{Value: graph.IntValue(1)},
	}}}}}
	q.Out = []plan.Col{a, e, x}
	p, err := Compile(q, Options{})
	require.NoError(t, err)
	rows, err := p.Run(ctx, w.g, w.tx, runtime.Env{Profile: true})
	require.NoError(t, err)
	defer rows.Close()
	out, err := rows.Next(ctx)
	require.NoError(t, err)
	require.Equal(t, 1, out.N)

	rec := out.Cols[0].Value(0).Record()
	require.Equal(t, []string{"A", "B"}, rec.Labels)
	require.Equal(t, []string{"n"}, rec.Keys)
	require.Equal(t, int64(7), rec.Values[0].Int())
	edge := out.Cols[1].Value(0).Edge()
	require.Equal(t, "R", edge.Record.Type)
	require.Equal(t, []string{"w"}, edge.Record.Keys)
	list := out.Cols[2].Value(0).List()
	require.Equal(t, []string{"B"}, list[0].Get("k").Record().Labels)
	require.Equal(t, []string{}, append([]string{}, list[0].Get("k").Record().Keys...))
	path := list[1].Path()
	require.Same(t, rec, path.Vertices[0].Record())
	require.Equal(t, "R", path.Edges[0].Edge().Record.Type)
	require.Equal(t, int64(1), list[2].Int())

	next, err := rows.Next(ctx)
	require.NoError(t, err)
	require.Nil(t, next)
}
