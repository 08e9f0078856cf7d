package expr

import (
	"context"

	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Predicates evaluates the conjuncts of a filter in order.
type Predicates struct {
	Es    *Evaluators
	preds []runtime.Selector
}

// Predicates creates the evaluators of conjuncts; es has no others.
func (es *Evaluators) Predicates(preds []plan.Expr) *Predicates {
	p := &Predicates{Es: es, preds: make([]runtime.Selector, len(preds))}
	for i, e := range preds {
		es.Group = i
		p.preds[i] = selectorOf(es.Add(e))
	}
	return p
}

// Select returns the rows of s for which all conjuncts are true: s itself if there are none, else a selection of p that is valid
// until the next call. It calls Begin.
func (p *Predicates) Select(ctx context.Context, b *runtime.Batch, s runtime.Sel) (runtime.Sel, error) {
	p.Es.Begin(s)
	for _, x := range p.preds {
		p.Es.Narrow(s)
		var err error
		if s, err = x.Select(ctx, b, s); err != nil {
			return nil, err
		}
		if len(s) == 0 {
			break
		}
	}
	return s, nil
}

// selectorOf returns an evaluator as a selector.
func selectorOf(x runtime.Evaluator) runtime.Selector {
	if s, ok := x.(runtime.Selector); ok {
		return s
	}
	return &chooser{x: x}
}

// selectors are selectorOf of several evaluators.
func selectors(xs []runtime.Evaluator) []runtime.Selector {
	out := make([]runtime.Selector, len(xs))
	for i, x := range xs {
		out[i] = selectorOf(x)
	}
	return out
}

// chooser selects the rows for which an expression is true by its values.
type chooser struct {
	x    runtime.Evaluator
	kept selection
}

func (c *chooser) Select(ctx context.Context, b *runtime.Batch, s runtime.Sel) (runtime.Sel, error) {
	vs, err := c.x.Eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	rows := c.kept.begin(s)
	for _, i := range s {
		t, err := truth(vs[i])
		if err != nil {
			return nil, err
		}
		if t == yes {
			rows = append(rows, i)
		}
	}
	return c.kept.end(b, rows), nil
}
