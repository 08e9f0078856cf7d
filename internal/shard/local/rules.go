package local

import (
	"context"

	"github.com/hopgate/hopgate/internal/rules"
)

// ChangeRules implements shard.Graph.
func (g *Graph) ChangeRules(ctx context.Context, add, remove []rules.Rule) error {
	return g.changing(ctx, func() error { return g.Catalog.ChangeRules(add, remove) })
}
