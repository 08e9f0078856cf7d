package local

import (
	"context"

	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/storage"
)

// Define implements shard.Graph.
func (g *Graph) Define(ctx context.Context, c definition.Change) error {
	return g.changing(ctx, func() error {
		before := g.log.Last().Number
		err := tell(g, func(cm *storage.CommitInfo) error { return g.Catalog.Define(c, cm) })
		if err != nil || g.log.Last().Number == before {
			return err
		}
		return g.refresh()
	})
}

// tell changes the catalog, and has a commit of the log tell of it if the graph has a log. The caller holds the writer's lock, and
// publishes the present state if readers must see the change in it.
func tell(g *Graph, change func(cm *storage.CommitInfo) error) error {
	info := g.log.Next(nil, nil)
	if g.untold || !info.Logged {
		return change(nil)
	}
	// The commits before lie in other shards, and must not be lost where this one is not.
	if err := storage.Sync(g.shards); err != nil {
		return err
	}
	if err := change(info); err != nil || !info.Told() {
		return err
	}
	g.log.Done(info)
	return nil
}
