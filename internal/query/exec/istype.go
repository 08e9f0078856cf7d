package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// isType is x IS :: type.
type isType struct {
	r   *run
	x   evaluator
	typ *fn.Type
	not bool
	out []graph.Value
}

func (es *evaluators) isType(e *plan.IsType) evaluator {
	typ, err := fn.ParseType(e.Type)
	if err != nil {
		es.r.fail(err)
		return &constant{}
	}
	return &isType{r: es.r, x: es.add(e.X), typ: typ, not: e.Not}
}

func (t *isType) eval(ctx context.Context, b *batch, s sel) ([]graph.Value, error) {
	vs, err := t.x.eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	t.out = grown(t.out, b.N)
	for _, i := range s {
		if err := t.r.ask(ctx, vs[i]); err != nil {
			return nil, err
		}
		t.out[i] = graph.BoolValue(t.typ.Matches(vs[i]) != t.not)
	}
	return t.out, nil
}
