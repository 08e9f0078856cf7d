package expr

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// isType is x IS :: type.
type isType struct {
	r   *runtime.Run
	x   runtime.Evaluator
	typ *fn.Type
	not bool
	out []graph.Value
}

func (es *Evaluators) isType(e *plan.IsType) runtime.Evaluator {
	typ, err := fn.ParseType(e.Type)
	if err != nil {
		es.r.Fail(err)
		return &Constant{}
	}
	return &isType{r: es.r, x: es.Add(e.X), typ: typ, not: e.Not}
}

func (t *isType) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	vs, err := t.x.Eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	t.out = Grown(t.out, b.N)
	for _, i := range s {
		if err := t.r.CheckLarge(ctx, vs[i]); err != nil {
			return nil, err
		}
		t.out[i] = graph.BoolValue(t.typ.Matches(vs[i]) != t.not)
	}
	return t.out, nil
}
