package write

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/storage/staging"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// Stamp is the time of what the transaction writes, in milliseconds since 1970.
func (tx *Mutator) Stamp() graph.Value {
	if tx.stamped.IsNull() {
		tx.stamped = graph.IntValue(tx.opts.Clock().UnixMilli())
	}
	return tx.stamped
}

// stampVertex adds the time of the write to what is written to a vertex, for each of its labels that wants it.
func (tx *Mutator) stampVertex(labels []graph.LabelID, props []graph.Property) []graph.Property {
	if len(tx.defs.TTLs) == 0 {
		return props
	}
	for _, l := range labels {
		props = tx.stampAll(tx.defs.ByLabel[l], props)
	}
	return props
}

// stampEdge is stampVertex for an edge.
func (tx *Mutator) stampEdge(t graph.TypeID, props []graph.Property) []graph.Property {
	if len(tx.defs.TTLs) == 0 {
		return props
	}
	return tx.stampAll(tx.defs.ByType[t], props)
}

func (tx *Mutator) stampAll(defs []*index.Def, props []graph.Property) []graph.Property {
	for _, d := range defs {
		if d.Stamped() {
			props = append(slices.Clip(props), graph.Property{ID: d.PropIDs[0], Value: tx.Stamp()})
		}
	}
	return props
}

// restamp makes the times of writing, and their entries, those of a vertex whose label set changes.
func (tx *Mutator) restamp(ctx context.Context, id graph.VertexID, old, set graph.LabelSet) error {
	if len(tx.defs.TTLs) == 0 {
		return nil
	}
	var props []graph.Property
	owner := graph.IndexOwner{Vertex: id}
	for _, d := range tx.defs.TTLs {
		if !d.Stamped() || d.Label == "" {
			continue
		}
		l, _ := tx.catalog.Label(d.Label)
		had, has := slices.Contains(tx.catalog.Labels(old), l), slices.Contains(tx.catalog.Labels(set), l)
		was, now := []graph.Value{{}}, []graph.Value{{}}
		if had {
			var err error
			if was, err = tx.valuesOf(ctx, d, id); err != nil {
				return err
			}
		}
		if has {
			now[0] = tx.Stamp()
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
	return tx.ws[id.Shard()].Vertices.SetProps(id, old, props, nil)
}

// PutStamp gives an element that is older than its TTL the time of this write.
func (tx *Mutator) PutStamp(ctx context.Context, d *index.Def, o graph.IndexOwner) error {
	props := []graph.Property{{ID: d.PropIDs[0], Value: tx.Stamp()}}
	if !o.IsEdge {
		return tx.ws[o.Vertex.Shard()].Vertices.SetProps(o.Vertex, tx.set(o.Vertex), props, nil)
	}
	t, _ := tx.catalog.Type(d.Type)
	e := index.EdgeOf(o, t)
	ms := []shard.Mutation{{Op: shard.SetEdge, Edge: e, Props: props}}
	var body []byte
	at := make([]int32, 0, 1)
	err := tx.eachEntry(ctx, ms, []int32{0}, graph.Out, func(w *staging.Writer, ls *view.Lists, i int32) error {
		b, ok, err := w.Edges.SetProps(ls, e, props, nil)
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
