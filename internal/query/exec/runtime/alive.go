package runtime

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// Ask is called before all of a value is read. It looks at the context if that may take a while: a batch may have a large value
// in each row, even where it takes no memory, since it is the same in all.
func (r *Run) Ask(ctx context.Context, v graph.Value) error {
	switch v.Kind() {
	case graph.String, graph.Bytes, graph.List, graph.Map, graph.PathKind:
		if fn.Large(v) {
			return r.Alive(ctx)
		}
	}
	return nil
}

// AskBoth is ask for two values.
func (r *Run) AskBoth(ctx context.Context, x, y graph.Value) error {
	if err := r.Ask(ctx, x); err != nil {
		return err
	}
	return r.Ask(ctx, y)
}

// AskRun is ask for who is given no context.
func (r *Run) AskRun(v graph.Value) error {
	switch v.Kind() {
	case graph.String, graph.Bytes, graph.List, graph.Map, graph.PathKind:
		if fn.Large(v) && r.Env.Fn.Run != nil {
			return r.Alive(r.Env.Fn.Run)
		}
	}
	return nil
}
