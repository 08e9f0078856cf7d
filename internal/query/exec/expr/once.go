package expr

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

// once evaluates an expression that has the same value for all rows of a run when a first row needs it. So an error of it
// remains that of a row.
type once struct {
	Constant
	x     runtime.Evaluator
	known bool
	row   runtime.Batch
}

// firstRow selects the row of once's batch.
var firstRow = runtime.Sel{0}

// once wraps an evaluator whose value depends only on arguments that are the same for all rows.
func (es *Evaluators) once(x runtime.Evaluator, args []runtime.Evaluator) runtime.Evaluator {
	if len(args) == 0 {
		return x
	}
	if slices.ContainsFunc(args, func(a runtime.Evaluator) bool { return !isFixed(a) }) {
		return x
	}
	o := &once{x: x}
	o.row.N = 1
	if es.r.Program.Reusable {
		es.r.Values = append(es.r.Values, o)
	}
	return o
}

// Eval implements runtime.Evaluator.
func (o *once) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	if !o.known && len(s) > 0 {
		vs, err := o.x.Eval(ctx, &o.row, firstRow)
		if err != nil {
			return nil, err
		}
		o.Value, o.known = vs[0], true
		o.filled = o.filled[:0]
	}
	return o.Constant.Eval(ctx, b, s)
}

// Forget clears the value.
func (o *once) Forget() {
	o.known = false
	o.Constant.Forget()
}

// isFixed reports whether an evaluator has the same value for all rows of a run.
func isFixed(e runtime.Evaluator) bool {
	switch e.(type) {
	case *Constant, *once:
		return true
	}
	return false
}

// fixed returns the value of an evaluator that has the same for all rows, once it has been evaluated.
func fixed(e runtime.Evaluator) (graph.Value, bool) {
	if o, ok := e.(*once); ok {
		return o.Value, o.known
	}
	return IsConst(e)
}
