package maintain

import (
	"context"
	"math"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/shard/local/read"
	"github.com/hopgate/hopgate/internal/shard/local/write"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// fill adds the entries of what existed when the index was defined.
func (b *Build) fill() error {
	from, err := b.of.catalog.IndexMark(b.id)
	if err != nil {
		return err
	}
	d := b.of.g.Defs().ByID[b.id]
	for err == nil && d != nil && from != graph.NoVertex {
		if err := context.Cause(b.ctx); err != nil {
			return err
		}
		if d.Type != "" {
			from, err = b.someEdges(d, from)
		} else {
			from, err = b.someVertices(d, from)
		}
	}
	switch {
	case err != nil:
		return err
	case d == nil:
		return index.ErrDropped
	case d.Kind == graph.FullTextIndex:
		return b.of.g.SettleText(b.ctx, d.ID)
	}
	return nil
}

// progress notes that all vertices before from are done.
func (b *Build) progress(from graph.VertexID) {
	done, all := 0.0, 1.0
	for no, end := range b.ends {
		all += float64(end)
		switch {
		case no < from.Shard():
			done += float64(end)
		case no == from.Shard():
			done += float64(from.Local())
		}
	}
	b.part.Store(math.Float64bits(done / all))
}

// scan finds some vertices at or after from that the build must visit; next is where to continue, graph.NoVertex after the
// last one.
func (b *Build) scan(tx *read.Tx, label graph.LabelID, from graph.VertexID) (ids []graph.VertexID, next graph.VertexID, err error) {
	b.progress(from)
	ids, next, done, err := tx.Scan(b.ctx, label, from, make([]graph.VertexID, 0, b.of.on.Options.Tuning.IndexBatch))
	if err != nil {
		return nil, from, err
	}
	ids = slices.DeleteFunc(ids, func(id graph.VertexID) bool { return id.Local() >= b.ends[id.Shard()] })
	if done {
		return ids, graph.NoVertex, nil
	}
	for no := next.Shard(); no < len(b.ends); no++ {
		if next.Local() < b.ends[no] {
			return ids, next, nil
		}
		next = graph.MakeVertexID(no+1, 0)
	}
	return ids, graph.NoVertex, nil
}

// put makes entries in a transaction, in which the definition of the index is what it is now; next is the mark that goes
// with them.
func (b *Build) put(next graph.VertexID, f func(tx *read.Tx, m *write.Mutator, d *index.Def) error) error {
	return b.of.g.Write(b.ctx, func(tx *read.Tx, m *write.Mutator) error {
		tx.Plain()
		d := b.of.g.Defs().ByID[b.id]
		if d == nil {
			return index.ErrDropped
		}
		if err := f(tx, m, d); err != nil {
			return err
		}
		storage.SetIndexMark(m.Writers()[0], b.id, next)
		return nil
	})
}

// entry makes the entry of one owner with the values that it has now.
func (b *Build) entry(m *write.Mutator, d *index.Def, vals []graph.Value, o graph.IndexOwner) error {
	if p := d.Missing(vals); p != "" {
		return index.Lacks(d, p, o)
	}
	if !d.Indexed {
		return nil
	}
	if d.Kind == graph.FullTextIndex {
		m.NoteText(d, o, vals)
		return nil
	}
	if d.Stamped() && vals[0].IsNull() {
		vals[0] = m.Stamp()
		if err := m.PutStamp(b.ctx, d, o); err != nil {
			return err
		}
	}
	tuple, ok, loose, err := view.AppendIndexed(nil, &d.Index, vals)
	if err != nil || !ok {
		return err
	}
	if d.Unique && !loose {
		other, ok, err := m.Owner(d.ID, tuple)
		switch {
		case err != nil || ok && other == o:
			return err
		case ok:
			return index.Clash(d, vals, other, o)
		}
	}
	m.NoteDue(d, tuple)
	m.Writers()[o.Vertex.Shard()].Entries.Put(d.ID, tuple, !d.Unique || loose, o)
	return nil
}

// someVertices makes the entries of some vertices at or after from; next is where to continue.
func (b *Build) someVertices(d *index.Def, from graph.VertexID) (next graph.VertexID, err error) {
	label := graph.LabelID(0) // all vertices
	if len(d.Labels) == 1 {
		label = d.Labels[0]
	}
	tx, end, err := b.of.g.Read(b.ctx)
	if err != nil {
		return from, err
	}
	tx.Plain()
	ids, next, err := b.scan(tx, label, from)
	end()
	if err != nil {
		return from, err
	}
	return next, b.put(next, func(tx *read.Tx, m *write.Mutator, d *index.Def) error {
		sets := make([]graph.LabelSet, len(ids))
		cols := shard.Columns(len(d.PropIDs), len(ids))
		if err := tx.LabelSets(b.ctx, ids, sets); err != nil {
			return err
		}
		if err := tx.Properties(b.ctx, ids, d.PropIDs, cols); err != nil {
			return err
		}
		vals := make([]graph.Value, len(d.PropIDs))
		for i, id := range ids {
			if !d.Covers(b.of.catalog.Labels(sets[i])) {
				continue
			}
			for p := range vals {
				vals[p] = cols[p][i]
			}
			if err := b.entry(m, d, vals, graph.IndexOwner{Vertex: id}); err != nil {
				return err
			}
		}
		return nil
	})
}

// someEdges makes the entries of the edges that leave some vertices at or after from; next is where to continue. The edges
// of one vertex may take several transactions.
func (b *Build) someEdges(d *index.Def, from graph.VertexID) (next graph.VertexID, err error) {
	tx, end, err := b.of.g.Read(b.ctx)
	if err != nil {
		return from, err
	}
	tx.Plain()
	ids, next, err := b.scan(tx, 0, from)
	var res shard.Neighbours
	if err == nil && len(ids) > 0 {
		err = tx.Expand(b.ctx, &shard.Expand{Sources: ids, Types: d.Types, Edges: true, MaxEdges: b.of.on.Options.Tuning.IndexBatch}, &res)
	}
	end()
	if err != nil {
		return from, err
	}
	var edges []graph.Edge
	if len(ids) > 0 {
		if res.Done < len(ids) {
			next = ids[res.Done]
		}
		edges = make([]graph.Edge, 0, len(res.Targets))
		for i := range res.Done {
			for k := res.Offsets[i]; k < res.Offsets[i+1]; k++ {
				edges = append(edges, graph.Edge{ID: res.Edges[k], Src: ids[i], Dst: res.Targets[k], Type: res.Types[k]})
			}
		}
	}
	recs := make([]shard.Record, min(len(edges), b.of.on.Options.Tuning.IndexBatch))
	for len(edges) > 0 {
		some := edges[:min(len(edges), len(recs))]
		edges = edges[len(some):]
		mark := next
		if len(edges) > 0 {
			mark = from
		}
		err := b.put(mark, func(tx *read.Tx, m *write.Mutator, d *index.Def) error {
			if err := tx.AllEdgeRecords(b.ctx, some, recs[:len(some)]); err != nil {
				return err
			}
			for i, e := range some {
				if recs[i].Labels == 0 {
					continue
				}
				if err := b.entry(m, d, d.Values(recs[i].Props), index.EdgeOwner(e)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return from, err
		}
	}
	return next, nil
}
