package expr

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// makePath joins vertices, edges and lists of edges into paths.
type makePath struct {
	Tuple
	out []graph.Value
}

func (es *Evaluators) makePath(e *plan.MakePath) runtime.Evaluator {
	args := make([]runtime.Evaluator, len(e.Cols))
	for i, c := range e.Cols {
		args[i] = es.column(c)
	}
	return &makePath{Tuple: NewTuple(args)}
}

func (m *makePath) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	if err := m.Run(ctx, b, s); err != nil {
		return nil, err
	}
	m.out = Grown(m.out, b.N)
	for _, i := range s {
		v, err := m.path(i)
		if err != nil {
			return nil, err
		}
		m.out[i] = v
	}
	return m.out, nil
}

// path creates the path of row i.
func (m *makePath) path(i int32) (graph.Value, error) {
	n := 0
	for _, c := range m.Cols {
		switch v := c[i]; v.Kind() {
		case graph.Null:
			return graph.Value{}, nil
		case graph.EdgeKind:
			n++
		case graph.List:
			n += len(v.List())
		}
	}
	p := &graph.Path{Vertices: make([]graph.Value, 0, n+1), Edges: make([]graph.Value, 0, n)}
	for k, c := range m.Cols {
		switch v := c[i]; v.Kind() {
		case graph.VertexKind:
			if k == 0 {
				p.Vertices = append(p.Vertices, v)
			}
		case graph.EdgeKind:
			AppendEdge(p, v)
		case graph.List:
			for _, e := range v.List() {
				if e.Kind() != graph.EdgeKind {
					return graph.Value{}, graph.TypeError("InvalidArgumentType", "a path cannot hold %s", notation.Describe(e))
				}
				AppendEdge(p, e)
			}
		default:
			return graph.Value{}, graph.TypeError("InvalidArgumentType", "a path cannot hold %s", notation.Describe(v))
		}
	}
	return graph.PathValue(p), nil
}

// AppendEdge appends an edge to a path, and the edge's other end.
func AppendEdge(p *graph.Path, edge graph.Value) {
	e := edge.Edge()
	next := e.Dst
	if p.Vertices[len(p.Vertices)-1].Vertex() != e.Src {
		next = e.Src
	}
	p.Edges = append(p.Edges, edge)
	p.Vertices = append(p.Vertices, graph.VertexValue(next))
}
