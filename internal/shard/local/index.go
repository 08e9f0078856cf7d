package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage"
)

// CreateIndex implements shard.Graph. Nobody else writes until the index is built.
func (g *Graph) CreateIndex(ctx context.Context, ix graph.Index) error {
	if err := g.enter(); err != nil {
		return err
	}
	defer g.leave()
	if err := g.lock(ctx); err != nil {
		return err
	}
	defer g.unlock()
	if err := g.checkIndex(ix); err != nil {
		return err
	}
	var errs []error
	if ix.Label != "" {
		_, err := g.NewLabel(ix.Label)
		errs = append(errs, err)
	}
	if ix.Type != "" {
		_, err := g.NewType(ix.Type)
		errs = append(errs, err)
	}
	for _, p := range ix.Props {
		_, err := g.NewProp(p)
		errs = append(errs, err)
	}
	var err error
	ix.ID, err = g.NewIndexID()
	if err = errors.Join(append(errs, err)...); err != nil {
		return err
	}
	if ix.Name == "" {
		ix.Name = "index_" + strconv.Itoa(int(ix.ID))
		if ix.Unique || ix.Required {
			ix.Name = "constraint_" + strconv.Itoa(int(ix.ID))
		}
	}
	ix.Props, ix.Online = slices.Clone(ix.Props), false
	if err := g.PutIndex(ix); err != nil {
		return err
	}
	g.loadDefs()
	if err := g.build(ctx, g.defs.Load().byID[ix.ID]); err != nil {
		return errors.Join(err, g.removeIndex(ix.ID))
	}
	ix.Online = true
	if err := g.PutIndex(ix); err != nil {
		return err
	}
	g.loadDefs()
	return g.refresh()
}

// refresh shows readers what is there now. The caller holds the writer's lock.
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
		return invalid("an index is over vertices of a label or over edges of a type, not both")
	case bare && (ix.Name == "" || !ix.Unique || len(ix.Props) > 0 || ix.Required):
		return invalid("an id space has a name, is unique and has no properties")
	case !bare && len(ix.Props) == 0:
		return invalid("an index has properties")
	case (ix.Unique || bare) && !ix.Indexed:
		return invalid("a unique constraint needs entries")
	case !ix.Indexed && !ix.Required:
		return invalid("an index without entries that requires nothing")
	}
	for i, p := range ix.Props {
		if slices.Contains(ix.Props[:i], p) {
			return invalid("the index names the property %s twice", p)
		}
	}
	for _, o := range g.Indexes() {
		same := !bare && o.Label == ix.Label && o.Type == ix.Type && o.Indexed == ix.Indexed && slices.Equal(o.Props, ix.Props)
		if ix.Name != "" && o.Name == ix.Name || same {
			return newError(graph.KindExists, "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists", "IndexExists",
				"there is the index or constraint %s already", o.Name)
		}
	}
	return nil
}

// buildBatch is about how many bytes of entries are committed together.
const buildBatch = 4 << 20

// build makes the entries of what is there and checks it.
func (g *Graph) build(ctx context.Context, d *indexDef) error {
	if len(d.Props) == 0 {
		return nil
	}
	// The data are read from a cut; the entries, which are checked against each other, through the writers.
	c, err := g.newCut()
	if err != nil {
		return err
	}
	c.refs = 1
	defer g.release(c)
	read := &Tx{g: g, mode: shard.Read, cut: c, views: c.views, plain: true}
	tx := &Tx{g: g, mode: shard.Write, plain: true}
	tx.begin()
	defer func() {
		for _, w := range tx.ws {
			_ = w.Discard()
		}
	}()
	add := func(vals []graph.Value, o storage.Owner) error {
		if p := d.missing(vals); p != "" {
			return missingProp(d, p)
		}
		if err := tx.putEntry(d, vals, o); err != nil {
			return err
		}
		if len(tx.dups) > 0 {
			return duplicateError(d, vals)
		}
		size := 0
		for _, w := range tx.ws {
			size += w.Bytes()
		}
		if size < buildBatch {
			return nil
		}
		return tx.flush()
	}
	if d.Type != "" {
		err = read.eachIndexedEdge(ctx, d, add)
	} else {
		err = read.eachIndexedVertex(ctx, d, add)
	}
	if err != nil {
		return err
	}
	return tx.flush()
}

// flush commits what a build has written and begins anew.
func (tx *Tx) flush() error {
	wait, err := storage.Commit(tx.ws, &tx.g.intents)
	tx.ws, tx.views = nil, nil
	if err != nil {
		return err
	}
	if err := wait(); err != nil {
		return err
	}
	tx.begin()
	return nil
}

func (tx *Tx) eachIndexedVertex(ctx context.Context, d *indexDef, f func([]graph.Value, storage.Owner) error) error {
	label, _ := tx.g.Catalog.Label(d.Label)
	ids := make([]graph.VertexID, 0, graph.BatchSize)
	cols := columns(len(d.props), graph.BatchSize)
	vals := make([]graph.Value, len(d.props))
	for from, done := graph.VertexID(0), false; !done; {
		var err error
		if ids, from, done, err = tx.Scan(ctx, label, from, ids[:0]); err != nil {
			return err
		}
		if err := tx.properties(ctx, ids, d.props, cols); err != nil {
			return err
		}
		for i, id := range ids {
			for p := range vals {
				vals[p] = cols[p][i]
			}
			if err := f(vals, storage.Owner{Vertex: id}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (tx *Tx) eachIndexedEdge(ctx context.Context, d *indexDef, f func([]graph.Value, storage.Owner) error) error {
	t, _ := tx.g.Catalog.Type(d.Type)
	ids := make([]graph.VertexID, 0, graph.BatchSize)
	vals := make([]graph.Value, len(d.props))
	var res shard.Neighbours
	for from, done := graph.VertexID(0), false; !done; {
		var err error
		if ids, from, done, err = tx.Scan(ctx, 0, from, ids[:0]); err != nil {
			return err
		}
		for rest := ids; len(rest) > 0; rest = rest[res.Done:] {
			req := shard.Expand{Sources: rest, Types: []graph.TypeID{t}, Edges: true, Props: d.props, MaxEdges: 1 << 16}
			if err := tx.Expand(ctx, &req, &res); err != nil {
				return err
			}
			for i := range res.Done {
				for k := res.Offsets[i]; k < res.Offsets[i+1]; k++ {
					for p := range vals {
						vals[p] = res.Props[p][k]
					}
					if err := f(vals, storage.Owner{Vertex: rest[i], Dst: res.Targets[k], Edge: res.Edges[k], IsEdge: true}); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// DropIndex implements shard.Graph.
func (g *Graph) DropIndex(ctx context.Context, name string) error {
	if err := g.enter(); err != nil {
		return err
	}
	defer g.leave()
	if err := g.lock(ctx); err != nil {
		return err
	}
	defer g.unlock()
	for _, ix := range g.Indexes() {
		if ix.Name != name {
			continue
		}
		// Whatever happens from here on, the index is not used any more.
		ix.Online = false
		if err := g.PutIndex(ix); err != nil {
			return err
		}
		g.loadDefs()
		if err := g.removeIndex(ix.ID); err != nil {
			return err
		}
		return g.refresh()
	}
	return newError(graph.KindNotFound, "Neo.ClientError.Schema.IndexNotFound", "IndexNotFound", "there is no index or constraint %s", name)
}

// removeIndex deletes an index's entries and then its definition.
func (g *Graph) removeIndex(id graph.IndexID) error {
	for _, s := range g.shards {
		if err := s.ClearIndex(id); err != nil {
			return err
		}
	}
	err := g.RemoveIndex(id)
	g.loadDefs()
	return err
}

// dropUnfinished removes indexes whose making or dropping did not come to its end.
func (g *Graph) dropUnfinished() error {
	for _, ix := range g.Indexes() {
		if !ix.Online {
			if err := g.removeIndex(ix.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// show prints an indexed value for a message.
func show(v graph.Value) string {
	switch v.Kind() {
	case graph.Int:
		return strconv.FormatInt(v.Int(), 10)
	case graph.Float:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case graph.Bool:
		return strconv.FormatBool(v.Bool())
	case graph.String:
		s := v.Str()
		if len(s) > 100 {
			s = s[:100] + "…"
		}
		return strconv.Quote(s)
	}
	return fmt.Sprintf("a %s", v.Kind())
}
