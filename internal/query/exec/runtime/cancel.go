package runtime

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// CheckLarge checks for cancellation before an operation that reads all of a large value. Each row of a batch may hold a large
// value, even if all rows share it and it takes no memory.
func (r *Run) CheckLarge(ctx context.Context, v graph.Value) error {
	switch v.Kind() {
	case graph.String, graph.Bytes, graph.VectorKind, graph.List, graph.Map, graph.PathKind:
		if fn.Large(v) {
			return r.CheckCancel(ctx)
		}
	}
	return nil
}

// CheckLargePair is CheckLarge for two values.
func (r *Run) CheckLargePair(ctx context.Context, x, y graph.Value) error {
	if err := r.CheckLarge(ctx, x); err != nil {
		return err
	}
	return r.CheckLarge(ctx, y)
}

// CheckLargeNoContext is CheckLarge for callers without a context.
func (r *Run) CheckLargeNoContext(v graph.Value) error {
	switch v.Kind() {
	case graph.String, graph.Bytes, graph.VectorKind, graph.List, graph.Map, graph.PathKind:
		if fn.Large(v) && r.Env.Fn.Run != nil {
			return r.CheckCancel(r.Env.Fn.Run)
		}
	}
	return nil
}
