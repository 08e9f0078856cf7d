package local

import (
	"context"

	"github.com/hopgate/hopgate/internal/definition"
)

// Define implements shard.Graph.
func (g *Graph) Define(ctx context.Context, c definition.Change) error {
	return g.changing(ctx, func() error { return g.Catalog.Define(c) })
}
