package expr

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

// hasLabels is x:Labels.
type hasLabels struct {
	x    runtime.Evaluator
	test *LabelTest
	sets LabelSets
	out  []graph.Value
}

func (h *hasLabels) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	vs, err := h.x.Eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	if err := h.sets.Read(ctx, vs, s); err != nil {
		return nil, err
	}
	h.out = Grown(h.out, b.N)
	for k, i := range h.sets.rows {
		h.out[i] = graph.BoolValue(h.test.Holds(h.sets.Sets[k]))
	}
	if len(h.sets.rows) == len(s) {
		return h.out, nil
	}
	for _, i := range s {
		switch v := vs[i]; v.Kind() {
		case graph.VertexKind:
		case graph.Null:
			h.out[i] = graph.Value{}
		case graph.EdgeKind:
			name := h.test.g.TypeName(v.Edge().Type)
			h.out[i] = graph.BoolValue(holdsLabels(h.test.Expr, true, func(n string) bool { return n == name }))
		default:
			return nil, graph.TypeError("InvalidArgumentType", "a label test needs a Node or a Relationship, not %s", notation.Describe(v))
		}
	}
	return h.out, nil
}
