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
)

// CreateIndex implements shard.Graph. From the definition on writers keep the new index; what was there before is added
// in the background, and the call returns when that is done. When ctx ends before, a plain index goes on being built; a
// constraint is removed again.
func (g *Graph) CreateIndex(ctx context.Context, ix graph.Index) error {
	b, err := g.define(ctx, ix)
	if err != nil || b == nil {
		return err
	}
	return b.Await(ctx, g.stop, ix.Unique || ix.Required)
}

// IndexProgress implements shard.Graph.
func (g *Graph) IndexProgress(id graph.IndexID) float64 { return g.builds.Progress(id) }

// define makes the definition of an index and has it built. It returns nil for one that needs no building.
func (g *Graph) define(ctx context.Context, ix graph.Index) (*maintain.Build, error) {
	if err := g.Enter(); err != nil {
		return nil, err
	}
	defer g.Leave()
	if err := g.lock(ctx); err != nil {
		return nil, err
	}
	defer g.unlock()
	if err := g.checkIndex(ix); err != nil {
		return nil, err
	}
	return g.addIndex(ix)
}

// addIndex puts a definition in the catalog and has what was there before added, if there can be any. The caller holds the
// writer's lock.
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
	if err := g.PutIndex(ix); err != nil {
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

// refresh shows readers the present state. The caller holds the writer's lock.
func (g *Graph) refresh() error {
	p, err := g.enqueue()
	if err != nil {
		return err
	}
	return g.publish(p, nil)
}

// checkIndex says why an index cannot be made.
func (g *Graph) checkIndex(ix graph.Index) error {
	bare := ix.Label == "" && ix.Type == ""
	switch {
	case ix.Label != "" && ix.Type != "":
		return fail.Invalid("an index is over vertices of a label or over edges of a type, not both")
	case bare && (ix.Name == "" || !ix.Unique || len(ix.Props) > 0 || ix.Required):
		return fail.Invalid("an id space has a name, is unique and has no properties")
	case !bare && len(ix.Props) == 0:
		return fail.Invalid("an index has properties")
	case (ix.Unique || bare) && !ix.Indexed:
		return fail.Invalid("a unique constraint needs entries")
	case ix.Kind == graph.PointIndex && (len(ix.Props) != 1 || ix.Unique || ix.Required):
		return fail.Invalid("a point index is over one property and no constraint")
	case ix.Kind == graph.VectorIndex && (len(ix.Props) != 1 || ix.Unique || ix.Required || ix.Indexed):
		return fail.Invalid("a vector index is over one property, and is no constraint")
	case ix.Kind == graph.FullTextIndex && (ix.Unique || ix.Required || !ix.Indexed):
		return fail.Invalid("a full-text index is no constraint")
	case ix.Kind != graph.FullTextIndex && len(ix.Text.More) > 0:
		return fail.Invalid("an index over several labels or types is a full-text index")
	case !ix.Searches() && !ix.Required:
		return fail.Invalid("an index without entries that requires nothing")
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
	if err := g.Enter(); err != nil {
		return err
	}
	defer g.Leave()
	if err := g.lock(ctx); err != nil {
		return err
	}
	defer g.unlock()
	for _, ix := range g.Indexes() {
		if ix.Name == name {
			return g.removeIndex(ix)
		}
	}
	return fail.New(graph.KindNotFound, "Neo.ClientError.Schema.IndexNotFound", "IndexNotFound", "there is no index or constraint %s", name)
}

// removeIndex takes an index out and deletes its entries. The caller holds the writer's lock.
func (g *Graph) removeIndex(ix graph.Index) error {
	if err := g.Catalog.DropIndex(ix); err != nil {
		return err
	}
	g.loadDefs()
	if err := g.texts.Drop(ix.ID); err != nil {
		return err
	}
	// The last snapshot is for the store: one that still had the entries would hold their space.
	return errors.Join(g.refresh(), g.clearDropped(), g.refresh())
}

// clearDropped deletes what is left of the indexes that were dropped. The caller holds the writer's lock.
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
