package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// hasLabels is x:Labels.
type hasLabels struct {
	x    evaluator
	test *labelTest
	sets labelSets
	out  []graph.Value
}

func (h *hasLabels) eval(ctx context.Context, b *batch, s sel) ([]graph.Value, error) {
	vs, err := h.x.eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	if err := h.sets.read(ctx, vs, s); err != nil {
		return nil, err
	}
	h.out = grown(h.out, b.N)
	for k, i := range h.sets.rows {
		h.out[i] = graph.BoolValue(h.test.holds(h.sets.sets[k]))
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
			h.out[i] = graph.BoolValue(holdsLabels(h.test.expr, true, func(n string) bool { return n == name }))
		default:
			return nil, graph.TypeError("InvalidArgumentType", "a label test needs a Node or a Relationship, not %s", fn.Describe(v))
		}
	}
	return h.out, nil
}
