package local

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/shard/local/maintain"
	"github.com/hopgate/hopgate/internal/storage"
)

// CreateIndex implements shard.Graph. Writers maintain the new index from its definition on. A build adds the entries of
// existing elements in the background, and the call returns when it is done. If ctx ends before that, the build of a plain index continues,
// and a constraint is removed.
func (g *Graph) CreateIndex(ctx context.Context, ix graph.Index) error {
	var b *maintain.Build
	err := g.changing(ctx, func() (err error) {
		if err := g.checkIndex(ix); err != nil {
			return err
		}
		b, err = g.addIndex(ix)
		return err
	})
	if err != nil || b == nil {
		return err
	}
	return b.Await(ctx, g.stop, ix.Unique || ix.Required)
}

// IndexProgress implements shard.Graph.
func (g *Graph) IndexProgress(id graph.IndexID) float64 { return g.builds.Progress(id) }

// addIndex puts a definition in the catalog and starts its build, if it needs one. The caller holds the writer's lock.
func (g *Graph) addIndex(ix graph.Index) (*maintain.Build, error) {
	var errs []error
	if ix.Label != "" {
		_, err := g.NewLabel(ix.Label)
		errs = append(errs, err)
	}
	if ix.Type != "" {
		_, err := g.NewType(ix.Type)
		errs = append(errs, err)
	}
	for _, name := range ix.Text.More {
		var err error
		if ix.Type != "" {
			_, err = g.NewType(name)
		} else {
			_, err = g.NewLabel(name)
		}
		errs = append(errs, err)
	}
	for _, p := range ix.Props {
		_, err := g.NewProp(p)
		errs = append(errs, err)
	}
	var err error
	ix.ID, err = g.NewIndexID()
	if err = errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	if ix.Name == "" {
		ix.Name = "index_" + strconv.Itoa(int(ix.ID))
		if ix.Unique || ix.Required {
			ix.Name = "constraint_" + strconv.Itoa(int(ix.ID))
		}
	}
	// An id space begins empty, and a vector index has no entries.
	ix.Props, ix.Online, ix.Failure = slices.Clone(ix.Props), ix.Label == "" && ix.Type == "" || ix.Kind == graph.VectorIndex, ""
	if err := tell(g, func(cm *storage.CommitInfo) error { return g.PutIndex(ix, cm) }); err != nil {
		return nil, err
	}
	g.loadDefs()
	if ix.Kind == graph.FullTextIndex {
		if err := g.texts.Open(ix.ID); err != nil {
			return nil, err
		}
	}
	if err := g.refresh(); err != nil || ix.Online {
		return nil, err
	}
	return g.builds.Start(ix.ID), nil
}

// refresh publishes the present state. The caller holds the writer's lock.
func (g *Graph) refresh() error {
	p, err := g.enqueue()
	if err != nil {
		return err
	}
	return g.publish(p, nil)
}

// checkIndex says why an index cannot be created.
func (g *Graph) checkIndex(ix graph.Index) error {
	bare := ix.Label == "" && ix.Type == ""
	switch {
	case ix.Label != "" && ix.Type != "":
		return fail.Invalid("an index covers the vertices of a label or the edges of a type, not both")
	case bare && (ix.Name == "" || !ix.Unique || len(ix.Props) > 0 || ix.Required):
		return fail.Invalid("an id space needs a name, is unique and has no properties")
	case !bare && len(ix.Props) == 0:
		return fail.Invalid("an index needs properties")
	case (ix.Unique || bare) && !ix.Indexed:
		return fail.Invalid("a unique constraint needs entries")
	case ix.Kind == graph.PointIndex && (len(ix.Props) != 1 || ix.Unique || ix.Required):
		return fail.Invalid("a point index covers one property and cannot be a constraint")
	case ix.Kind == graph.VectorIndex && (len(ix.Props) != 1 || ix.Unique || ix.Required || ix.Indexed):
		return fail.Invalid("a vector index covers one property and cannot be a constraint")
	case ix.Kind == graph.FullTextIndex && (ix.Unique || ix.Required || !ix.Indexed):
		return fail.Invalid("a full-text index cannot be a constraint")
	case ix.Kind != graph.FullTextIndex && len(ix.Text.More) > 0:
		return fail.Invalid("only a full-text index can cover several labels or types")
	case !ix.Searches() && !ix.Required:
		return fail.Invalid("an index without entries must require its properties")
	}
	for i, p := range ix.Props {
		if slices.Contains(ix.Props[:i], p) {
			return fail.Invalid("the index names the property %s twice", p)
		}
	}
	if o := ix.Clash(g.Indexes()); o != nil {
		return graph.IndexExists(o)
	}
	return nil
}

// DropIndex implements shard.Graph.
func (g *Graph) DropIndex(ctx context.Context, name string) error {
	return g.changing(ctx, func() error {
		for _, ix := range g.Indexes() {
			if ix.Name == name {
				return g.removeIndex(ix)
			}
		}
		return fail.New(graph.KindNotFound, "Neo.ClientError.Schema.IndexNotFound", "IndexNotFound", "index or constraint %s does not exist", name)
	})
}

// removeIndex removes an index and its entries. The caller holds the writer's lock.
func (g *Graph) removeIndex(ix graph.Index) error {
	if err := tell(g, func(cm *storage.CommitInfo) error { return g.Catalog.DropIndex(ix, cm) }); err != nil {
		return err
	}
	g.loadDefs()
	if err := g.texts.Drop(ix.ID); err != nil {
		return err
	}
	// The second snapshot replaces one that would pin the space of the entries.
	return errors.Join(g.refresh(), g.clearDropped(), g.refresh())
}

// clearDropped deletes the remains of dropped indexes. The caller holds the writer's lock.
func (g *Graph) clearDropped() error {
	for _, id := range g.Dropped() {
		for _, s := range g.shards {
			if err := s.ClearIndex(id); err != nil {
				return err
			}
		}
		if err := g.RemoveIndex(id); err != nil {
			return err
		}
	}
	return nil
}

// loadDefs makes the definitions follow the catalog.
func (g *Graph) loadDefs() { g.storeDefs(index.All(g.Catalog)) }

func (g *Graph) storeDefs(indexes []graph.Index) { g.defs.Store(index.New(g.Catalog, indexes)) }
