package expr

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

// recorded computes values whose vertices and edges have records.
type recorded struct {
	x    runtime.Evaluator
	r    *runtime.Run
	m    Recorder
	part []graph.Value
	out  []graph.Value
}

func (e *recorded) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	vs, err := e.x.Eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	e.part = e.part[:0]
	for _, i := range s {
		e.part = append(e.part, vs[i])
	}
	rows := graph.Batch{N: len(s), Cols: []graph.Column{{Vals: e.part}}}
	if err := e.m.Materialise(ctx, e.r, &rows); err != nil {
		return nil, err
	}
	e.out = Grown(e.out, b.N)
	for k, i := range s {
		e.out[i] = rows.Cols[0].Vals[k]
	}
	return e.out, nil
}

// bare returns a value without the records of stored vertices and edges, which may change.
func bare(v graph.Value) graph.Value {
	switch v.Kind() {
	case graph.VertexKind:
		if !v.Virtual() {
			return graph.VertexValue(v.Vertex())
		}
	case graph.EdgeKind:
		if !v.Virtual() {
			return graph.EdgeRefValue(&graph.EdgeValue{Edge: v.Edge().Edge})
		}
	case graph.List:
		return graph.ListValue(bareAll(v.List()))
	case graph.Map:
		out := make([]graph.MapEntry, len(v.Map()))
		for i, e := range v.Map() {
			out[i] = graph.MapEntry{Key: e.Key, Value: bare(e.Value)}
		}
		return graph.MapValue(out)
	case graph.PathKind:
		return graph.PathValue(&graph.Path{Vertices: bareAll(v.Path().Vertices), Edges: bareAll(v.Path().Edges)})
	}
	return v
}

func bareAll(vs []graph.Value) []graph.Value {
	out := make([]graph.Value, len(vs))
	for i, v := range vs {
		out[i] = bare(v)
	}
	return out
}
