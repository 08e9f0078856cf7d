package write

import (
	"cmp"
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/shard/local/read"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/staging"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// edgeChangesAlike is how many mutations, from the first on, set properties of edges of one type, or delete such edges.
func edgeChangesAlike(ms []shard.Mutation) int {
	if ms[0].Op != shard.SetEdge && ms[0].Op != shard.DeleteEdge {
		return 0
	}
	n := 1
	for n < len(ms) && ms[n].Op == ms[0].Op && ms[n].Edge.Type == ms[0].Edge.Type {
		n++
	}
	return n
}

// changeEdges changes edges as edgeChangesAlike says: all lists of their sources first, then those of their targets, both
// in the order of the lists.
func (tx *Mutator) changeEdges(ctx context.Context, ms []shard.Mutation) error {
	if ms[0].Op == shard.DeleteEdge {
		return tx.deleteEdges(ctx, ms)
	}
	return tx.setEdges(ctx, ms)
}

// eachEntry calls f with the places of edges of one type, in the order of their lists of one direction, and the lists that
// each lies in. Changes of one edge keep their order.
func (tx *Mutator) eachEntry(ctx context.Context, ms []shard.Mutation, at []int32, dir graph.Direction, f func(w *staging.Writer, ls *view.Lists, i int32) error) error {
	ends := func(i int32) (own, far graph.VertexID) {
		e := &ms[i].Edge
		if dir == graph.Out {
			return e.Src, e.Dst
		}
		return e.Dst, e.Src
	}
	order := func(a, b int32) int {
		own, far := ends(a)
		own2, far2 := ends(b)
		return cmp.Or(cmp.Compare(own, own2), cmp.Compare(far, far2), cmp.Compare(ms[a].Edge.ID, ms[b].Edge.ID), cmp.Compare(a, b))
	}
	if !slices.IsSortedFunc(at, order) {
		slices.SortFunc(at, order)
	}
	for len(at) > 0 {
		own, _ := ends(at[0])
		w := tx.ws[own.Shard()]
		n := 1
		for ; n < len(at); n++ {
			if next, _ := ends(at[n]); next.Shard() != own.Shard() {
				break
			}
		}
		ls, err := w.Lists(ms[0].Edge.Type, dir)
		if err != nil {
			return err
		}
		for k, i := range at[:n] {
			if k&0xff == 0xff {
				err = kv.Alive(ctx)
			}
			if err == nil {
				err = f(w, ls, i)
			}
			if err != nil {
				break
			}
		}
		ls.Close()
		if err != nil {
			return err
		}
		at = at[n:]
	}
	return nil
}

// has reports whether the ends of an edge are of some shards.
func has(shards int, e graph.Edge) bool { return e.Src.Shard() < shards && e.Dst.Shard() < shards }

// setEdges sets properties of edges of one type.
func (tx *Mutator) setEdges(ctx context.Context, ms []shard.Mutation) error {
	at := make([]int32, len(ms))
	for i := range ms {
		at[i] = int32(i)
		if !has(len(tx.ws), ms[i].Edge) {
			return fail.Gone("edge", uint64(ms[i].Edge.ID))
		}
		if err := storable(ms[i].Props); err != nil {
			return err
		}
	}
	bodies := make([][]byte, len(ms))
	old := newOldEdge(tx)
	err := tx.eachEntry(ctx, ms, at, graph.Out, func(w *staging.Writer, ls *view.Lists, i int32) (err error) {
		bodies[i], err = tx.setEdge(ctx, w, ls, &ms[i], old)
		return err
	})
	if err != nil {
		return err
	}
	return tx.eachEntry(ctx, ms, at, graph.In, func(w *staging.Writer, ls *view.Lists, i int32) error {
		return w.Edges.Mirror(ls, ms[i].Edge, bodies[i])
	})
}

// oldEdge has the properties of an edge before a change, if the commit log or an index needs them.
type oldEdge struct {
	tx    *Mutator
	props []graph.Property
	take  func(p graph.PropID, cell []byte) error // takes a cell
}

func newOldEdge(tx *Mutator) *oldEdge {
	o := &oldEdge{tx: tx}
	o.take = func(p graph.PropID, cell []byte) error {
		v, err := read.Decode(tx.read, cell)
		o.props = append(o.props, graph.Property{ID: p, Value: v})
		return err
	}
	return o
}

// reads returns what takes the cells of an edge of a type that is about to change; nil if they are not needed.
func (o *oldEdge) reads(t graph.TypeID) func(p graph.PropID, cell []byte) error {
	o.props = o.props[:0]
	if o.tx.Log.mode == changelog.Off && len(o.tx.defs.ByType[t]) == 0 {
		return nil
	}
	return o.take
}

// setEdge sets properties of an edge in the list of its source, and gives the body for its entry at the target.
func (tx *Mutator) setEdge(ctx context.Context, w *staging.Writer, ls *view.Lists, m *shard.Mutation, old *oldEdge) ([]byte, error) {
	e := m.Edge
	props := tx.stampEdge(e.Type, m.Props)
	body, ok, err := w.Edges.SetProps(ls, e, props, old.reads(e.Type))
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fail.Gone("edge", uint64(e.ID))
	}
	for _, d := range tx.defs.ByType[e.Type] {
		if !d.Touches(props) {
			continue
		}
		if d.Required {
			put(&tx.touchedEdges, e.ID, e)
		}
		was := d.Values(old.props)
		if err := tx.moveEntry(d, was, d.Merged(was, props), index.EdgeOwner(e)); err != nil {
			return nil, err
		}
	}
	return body, tx.Log.setEdge(ctx, e, old.props, props)
}

// edgeValuesOf reads the values of an index's properties of one edge.
func (tx *Mutator) edgeValuesOf(ctx context.Context, d *index.Def, e graph.Edge) (vals []graph.Value, ok bool, err error) {
	var rec [1]shard.Record
	if err := tx.read.AllEdgeRecords(ctx, []graph.Edge{e}, rec[:]); err != nil {
		return nil, false, err
	}
	return d.Values(rec[0].Props), rec[0].Labels != 0, nil
}

// deleteEdges deletes edges of one type. Those that are not there are left out.
func (tx *Mutator) deleteEdges(ctx context.Context, ms []shard.Mutation) error {
	at := make([]int32, 0, len(ms))
	for i := range ms {
		if has(len(tx.ws), ms[i].Edge) {
			at = append(at, int32(i))
		}
	}
	deleted := make([]int32, 0, len(at))
	old := newOldEdge(tx)
	err := tx.eachEntry(ctx, ms, at, graph.Out, func(w *staging.Writer, ls *view.Lists, i int32) error {
		ok, err := tx.deleteEdge(ctx, w, ls, ms[i].Edge, old)
		if ok {
			deleted = append(deleted, i)
		}
		return err
	})
	if err != nil {
		return err
	}
	counts := edgeCounter{tx: tx, by: -1}
	err = tx.eachEntry(ctx, ms, deleted, graph.In, func(w *staging.Writer, ls *view.Lists, i int32) error {
		_, err := w.Edges.Remove(ls, ms[i].Edge, nil)
		src, _ := tx.sets.get(ms[i].Edge.Src)
		dst, _ := tx.sets.get(ms[i].Edge.Dst)
		counts.add(ms[i].Edge, src, dst)
		return err
	})
	counts.flush()
	return err
}

// edgeCounter counts edges in or out, those in a row that count alike together.
type edgeCounter struct {
	tx   *Mutator
	by   int64 // 1 or -1
	edge graph.Edge
	n    int64 // edges that count like edge
	last edgeKind
}

// edgeKind is what edges of one type that count alike have in common.
type edgeKind struct {
	src, dst           graph.LabelSet
	srcShard, dstShard int
}

// add counts an edge between vertices with these label sets.
func (c *edgeCounter) add(e graph.Edge, src, dst graph.LabelSet) {
	is := edgeKind{src, dst, e.Src.Shard(), e.Dst.Shard()}
	if is != c.last {
		c.flush()
	}
	c.edge, c.last = e, is
	c.n++
}

func (c *edgeCounter) flush() {
	if c.n > 0 {
		c.tx.countEdge(c.edge, c.by*c.n)
		c.n = 0
	}
}

// deleteEdge deletes an edge from the list of its source and from the indexes.
func (tx *Mutator) deleteEdge(ctx context.Context, w *staging.Writer, ls *view.Lists, e graph.Edge, old *oldEdge) (ok bool, err error) {
	if ok, err = w.Edges.Remove(ls, e, old.reads(e.Type)); !ok || err != nil {
		return false, err
	}
	for _, d := range tx.defs.ByType[e.Type] {
		if err := tx.DeleteEntry(d, d.Values(old.props), index.EdgeOwner(e)); err != nil {
			return false, err
		}
	}
	delete(tx.touchedEdges, e.ID)
	return true, tx.Log.deletedEdge(ctx, e, old.props)
}
