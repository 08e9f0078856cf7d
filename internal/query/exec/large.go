package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// ask is called before all of a value is read. It looks at the context if that may take a while: a batch may have a large value
// in each row, even where it takes no memory, since it is the same in all.
func (r *run) ask(ctx context.Context, v graph.Value) error {
	switch v.Kind() {
	case graph.String, graph.List, graph.Map, graph.PathKind:
		if fn.Large(v) {
			return r.alive(ctx)
		}
	}
	return nil
}

// askBoth is ask for two values.
func (r *run) askBoth(ctx context.Context, x, y graph.Value) error {
	if err := r.ask(ctx, x); err != nil {
		return err
	}
	return r.ask(ctx, y)
}

// askRun is ask for who is given no context.
func (r *run) askRun(v graph.Value) error {
	switch v.Kind() {
	case graph.String, graph.List, graph.Map, graph.PathKind:
		if fn.Large(v) && r.env.Fn.Run != nil {
			return r.alive(r.env.Fn.Run)
		}
	}
	return nil
}
