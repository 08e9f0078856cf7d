package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
)

// evaluator computes an expression over batches of one layout. It holds its buffers and belongs to one run.
type evaluator interface {
	// eval gives a slice with a cell for each row of b, of which those at the rows of s hold the results; the others hold
	// anything. The slice is valid until the next call. It must not be changed.
	eval(ctx context.Context, b *batch, s sel) ([]graph.Value, error)
}

// selector is an evaluator that can pick the rows for which it is true without making values.
type selector interface {
	// filter appends to dst the rows of s for which the expression is true. dst may be s[:0].
	filter(ctx context.Context, b *batch, s, dst sel) (sel, error)
}
