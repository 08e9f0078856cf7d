package runtime

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
)

// Evaluator computes an expression over batches of one layout. It owns buffers and belongs to one run.
type Evaluator interface {
	// Eval returns a slice with a cell for each row of b. The cells at the rows of s hold the results; the others are
	// undefined. The slice is valid until the next call and must not be changed.
	Eval(ctx context.Context, b *Batch, s Sel) ([]graph.Value, error)
}

// Selector is an evaluator that can select the rows for which it is true without creating values.
type Selector interface {
	// Select returns the rows of s for which the expression is true, in their order. The evaluator owns the result, which is
	// valid until the next call and must not be changed. Select does not change s, which is not an earlier result of its own.
	Select(ctx context.Context, b *Batch, s Sel) (Sel, error)
}
