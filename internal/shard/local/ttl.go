package local

import (
	"context"
	"errors"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/storage/staging"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// A TTL is a hidden index: over the property that holds the time from which it counts, or over a hidden property
// that every write sets to its time. So its entries are kept, built, loaded and checked like those of any index, and what is
// due stands first among them.

// TTLs implements shard.Graph.
func (g *Graph) TTLs() []graph.TTL {
	var out []graph.TTL
	for _, ix := range g.Expiries() {
		out = append(out, ttlOf(ix))
	}
	return out
}

func ttlOf(ix graph.Index) graph.TTL {
	t := graph.TTL{Label: ix.Label, Type: ix.Type, After: ix.TTL}
	if len(ix.Props) > 0 {
		t.Property = ix.Props[0]
	}
	return t
}

// SetTTL implements shard.Graph.
func (g *Graph) SetTTL(ctx context.Context, t graph.TTL) error {
	b, err := g.setTTL(ctx, t)
	if err != nil || b == nil {
		return err
	}
	return g.await(ctx, b, false)
}

// setTTL defines a TTL; it returns nil if the graph needs no new entries.
func (g *Graph) setTTL(ctx context.Context, t graph.TTL) (b *build, err error) {
	if (t.Label == "") == (t.Type == "") || t.After <= 0 {
		return nil, invalid("a TTL is on a label or an edge type and longer than nothing")
	}
	err = g.changing(ctx, func() error {
		old := g.expiriesOf(t.Label, t.Type)
		if len(old) == 1 && ttlOf(old[0]).Property == t.Property {
			old[0].TTL = t.After
			if err := g.PutIndex(old[0]); err != nil {
				return err
			}
			g.loadDefs()
			return g.refreshDue()
		}
		ix := graph.Index{Name: "ttl", Label: t.Label, Type: t.Type, Indexed: true, TTL: t.After}
		if t.Property != "" {
			ix.Props = []string{t.Property}
		}
		if b, err = g.addIndex(ix); err != nil {
			return err
		}
		return g.removeExpiries(old)
	})
	return b, err
}

// DropTTL implements shard.Graph.
func (g *Graph) DropTTL(ctx context.Context, label, typ string) error {
	return g.changing(ctx, func() error {
		old := g.expiriesOf(label, typ)
		if len(old) == 0 {
			return notFound("there is no TTL on %s", label+typ)
		}
		return g.removeExpiries(old)
	})
}

// changing calls f with the writer's lock.
func (g *Graph) changing(ctx context.Context, f func() error) error {
	if err := g.enter(); err != nil {
		return err
	}
	defer g.leave()
	if err := g.lock(ctx); err != nil {
		return err
	}
	defer g.unlock()
	return f()
}

// expiriesOf returns the TTLs on a label or type: one, or none, or two if a crash came between a new one and the end of the
// old.
func (g *Graph) expiriesOf(label, typ string) []graph.Index {
	var out []graph.Index
	for _, ix := range g.Expiries() {
		if ix.Label == label && ix.Type == typ {
			out = append(out, ix)
		}
	}
	return out
}

// removeExpiries ends TTLs. The caller holds the writer's lock.
func (g *Graph) removeExpiries(old []graph.Index) error {
	var errs []error
	for _, ix := range old {
		errs = append(errs, g.removeIndex(ix))
	}
	return errors.Join(append(errs, g.refreshDue())...)
}

// stamp is the time of what the transaction writes, in milliseconds since 1970.
func (tx *Tx) stamp() graph.Value {
	if tx.stamped.IsNull() {
		tx.stamped = graph.IntValue(tx.on.opts.Clock().UnixMilli())
	}
	return tx.stamped
}

// stampVertex adds the time of the write to what is written to a vertex, for each of its labels that wants it.
func (tx *Tx) stampVertex(labels []graph.LabelID, props []graph.Property) []graph.Property {
	if len(tx.defs.TTLs) == 0 {
		return props
	}
	for _, l := range labels {
		props = tx.stampAll(tx.defs.ByLabel[l], props)
	}
	return props
}

// stampEdge is stampVertex for an edge.
func (tx *Tx) stampEdge(t graph.TypeID, props []graph.Property) []graph.Property {
	if len(tx.defs.TTLs) == 0 {
		return props
	}
	return tx.stampAll(tx.defs.ByType[t], props)
}

func (tx *Tx) stampAll(defs []*index.Def, props []graph.Property) []graph.Property {
	for _, d := range defs {
		if d.Stamped() {
			props = append(slices.Clip(props), graph.Property{ID: d.PropIDs[0], Value: tx.stamp()})
		}
	}
	return props
}

// restamp makes the times of writing, and their entries, those of a vertex whose label set changes.
func (tx *Tx) restamp(ctx context.Context, id graph.VertexID, old, set graph.LabelSet) error {
	if len(tx.defs.TTLs) == 0 {
		return nil
	}
	var props []graph.Property
	owner := graph.IndexOwner{Vertex: id}
	for _, d := range tx.defs.TTLs {
		if !d.Stamped() || d.Label == "" {
			continue
		}
		l, _ := tx.g.Catalog.Label(d.Label)
		had, has := slices.Contains(tx.g.Labels(old), l), slices.Contains(tx.g.Labels(set), l)
		was, now := []graph.Value{{}}, []graph.Value{{}}
		if had {
			var err error
			if was, err = tx.valuesOf(ctx, d, id); err != nil {
				return err
			}
		}
		if has {
			now[0] = tx.stamp()
		}
		if err := tx.moveEntry(d, was, now, owner); err != nil {
			return err
		}
		if had || has {
			props = append(props, graph.Property{ID: d.PropIDs[0], Value: now[0]})
		}
	}
	if len(props) == 0 {
		return nil
	}
	return tx.ws[id.Shard()].Vertices.SetProps(id, old, props)
}

// putStamp returns what was there before its TTL the time of the write at hand.
func (tx *Tx) putStamp(ctx context.Context, d *index.Def, o graph.IndexOwner) error {
	props := []graph.Property{{ID: d.PropIDs[0], Value: tx.stamp()}}
	if !o.IsEdge {
		return tx.ws[o.Vertex.Shard()].Vertices.SetProps(o.Vertex, tx.set(o.Vertex), props)
	}
	t, _ := tx.g.Catalog.Type(d.Type)
	e := edgeOf(o, t)
	ms := []shard.Mutation{{Op: shard.SetEdge, Edge: e, Props: props}}
	var body []byte
	at := make([]int32, 0, 1)
	err := tx.eachEntry(ctx, ms, []int32{0}, graph.Out, func(w *staging.Writer, ls *view.Lists, i int32) error {
		b, ok, err := w.Edges.SetProps(ls, e, props)
		if ok {
			body, at = b, append(at, i)
		}
		return err
	})
	if err != nil {
		return err
	}
	return tx.eachEntry(ctx, ms, at, graph.In, func(w *staging.Writer, ls *view.Lists, _ int32) error {
		return w.Edges.Mirror(ls, e, body)
	})
}

// detach makes the mutations that delete vertices with their edges. It stops after about most edges, with whole vertices as
// long as these have not many more.
func (tx *Tx) detach(ctx context.Context, ids []graph.VertexID, most int) ([]shard.Mutation, error) {
	var res shard.Neighbours
	req := shard.Expand{Sources: ids, Dir: graph.Both, Edges: true, MaxEdges: most}
	if err := tx.Expand(ctx, &req, &res); err != nil {
		return nil, err
	}
	var ms []shard.Mutation
	for i := range res.Done {
		for k := res.Offsets[i]; k < res.Offsets[i+1]; k++ {
			if len(ms) >= 16*most {
				return ms, nil
			}
			e := graph.Edge{ID: res.Edges[k], Src: ids[i], Dst: res.Targets[k], Type: res.Types[k]}
			if res.Reverse[k] {
				e.Src, e.Dst = e.Dst, e.Src
			}
			ms = append(ms, shard.Mutation{Op: shard.DeleteEdge, Edge: e})
		}
		ms = append(ms, shard.Mutation{Op: shard.DeleteVertex, Vertex: ids[i]})
	}
	return ms, nil
}
