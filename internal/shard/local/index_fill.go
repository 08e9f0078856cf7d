package local

import (
	"context"
	"math"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// fill adds the entries of what was there when the index was defined.
func (b *build) fill() error {
	from, err := b.g.IndexMark(b.id)
	if err != nil {
		return err
	}
	d := b.g.defs.Load().ByID[b.id]
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
		return b.g.texts.Settle(b.ctx, d.ID)
	}
	return nil
}

// progress notes that all vertices before from are done.
func (b *build) progress(from graph.VertexID) {
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

// scan finds some vertices at or after from that the build must visit; next is where to go on, graph.NoVertex after the
// last one.
func (b *build) scan(tx *Tx, label graph.LabelID, from graph.VertexID) (ids []graph.VertexID, next graph.VertexID, err error) {
	b.progress(from)
	ids, next, done, err := tx.Scan(b.ctx, label, from, make([]graph.VertexID, 0, b.g.Options.Tuning.IndexBatch))
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

// read begins a transaction on the newest snapshot.
func (b *build) read() (*Tx, error) { return b.begin(shard.Read) }

func (b *build) begin(mode shard.Mode) (*Tx, error) {
	t, err := b.g.beginAlways(b.ctx, mode)
	if err != nil {
		return nil, err
	}
	tx := t.(*Tx)
	tx.Plain()
	return tx, nil
}

// put makes entries in a transaction, in which the definition of the index is what it is now; next is the mark that goes
// with them.
func (b *build) put(next graph.VertexID, f func(tx *Tx, d *index.Def) error) error {
	tx, err := b.begin(shard.WriteExclusive)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	d := b.g.defs.Load().ByID[b.id]
	if d == nil {
		return index.ErrDropped
	}
	if err := f(tx, d); err != nil {
		return err
	}
	storage.SetIndexMark(tx.Writers()[0], b.id, next)
	return tx.Commit(b.ctx)
}

// entry makes the entry of one owner with the values that it has now.
func (b *build) entry(tx *Tx, d *index.Def, vals []graph.Value, o graph.IndexOwner) error {
	if p := d.Missing(vals); p != "" {
		return index.Lacks(d, p, o)
	}
	if !d.Indexed {
		return nil
	}
	if d.Kind == graph.FullTextIndex {
		tx.NoteText(d, o, vals)
		return nil
	}
	if d.Stamped() && vals[0].IsNull() {
		vals[0] = tx.Stamp()
		if err := tx.PutStamp(b.ctx, d, o); err != nil {
			return err
		}
	}
	tuple, ok, loose, err := view.AppendIndexed(nil, &d.Index, vals)
	if err != nil || !ok {
		return err
	}
	if d.Unique && !loose {
		other, ok, err := tx.Owner(d.ID, tuple)
		switch {
		case err != nil || ok && other == o:
			return err
		case ok:
			return index.Clash(d, vals, other, o)
		}
	}
	tx.NoteDue(d, tuple)
	tx.Writers()[o.Vertex.Shard()].Entries.Put(d.ID, tuple, !d.Unique || loose, o)
	return nil
}

// someVertices makes the entries of some vertices at or after from; next is where to go on.
func (b *build) someVertices(d *index.Def, from graph.VertexID) (next graph.VertexID, err error) {
	label := graph.LabelID(0) // all vertices
	if len(d.Labels) == 1 {
		label = d.Labels[0]
	}
	tx, err := b.read()
	if err != nil {
		return from, err
	}
	ids, next, err := b.scan(tx, label, from)
	tx.Rollback()
	if err != nil {
		return from, err
	}
	return next, b.put(next, func(tx *Tx, d *index.Def) error {
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
			if !d.Covers(b.g.Labels(sets[i])) {
				continue
			}
			for p := range vals {
				vals[p] = cols[p][i]
			}
			if err := b.entry(tx, d, vals, graph.IndexOwner{Vertex: id}); err != nil {
				return err
			}
		}
		return nil
	})
}

// someEdges makes the entries of the edges that leave some vertices at or after from; next is where to go on. The edges
// of one vertex may take several transactions.
func (b *build) someEdges(d *index.Def, from graph.VertexID) (next graph.VertexID, err error) {
	tx, err := b.read()
	if err != nil {
		return from, err
	}
	ids, next, err := b.scan(tx, 0, from)
	var res shard.Neighbours
	if err == nil && len(ids) > 0 {
		err = tx.Expand(b.ctx, &shard.Expand{Sources: ids, Types: d.Types, Edges: true, MaxEdges: b.g.Options.Tuning.IndexBatch}, &res)
	}
	tx.Rollback()
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
	recs := make([]shard.Record, min(len(edges), b.g.Options.Tuning.IndexBatch))
	for len(edges) > 0 {
		some := edges[:min(len(edges), len(recs))]
		edges = edges[len(some):]
		mark := next
		if len(edges) > 0 {
			mark = from
		}
		err := b.put(mark, func(tx *Tx, d *index.Def) error {
			if err := tx.AllEdgeRecords(b.ctx, some, recs[:len(some)]); err != nil {
				return err
			}
			for i, e := range some {
				if recs[i].Labels == 0 {
					continue
				}
				if err := b.entry(tx, d, d.Values(recs[i].Props), index.EdgeOwner(e)); err != nil {
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
