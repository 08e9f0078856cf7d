package write

import (
	"cmp"
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/storage/staging"
)

// Recorder adds what a transaction changes to the records of its writers for the commit log, with what there was before: of a vertex in the
// record of its shard, of an edge in that of its source. Hidden properties are not in the log.
type Recorder struct {
	tx   *Mutator
	mode changelog.Mode
	c    changelog.Change
	// These are memory for the properties of c, and for what is read of a vertex.
	before, was, after []graph.Property
	keys               [3][]graph.Property
	read               []graph.PropID
	// What prefetch has read, with what has changed since: properties of vertices, some of them by columns, and whole vertices, each in the
	// order of their ids.
	ids   []graph.VertexID
	props []graph.PropID
	cols  [][]graph.Value
	whole []graph.VertexID
	recs  []shard.Record
	// The properties of node keys, by label set.
	keySets map[graph.LabelSet][]graph.PropID
}

// Mode says how much is recorded.
func (r *Recorder) Mode() changelog.Mode { return r.mode }

// full reports whether changes have all properties.
func (r *Recorder) full() bool { return r.mode == changelog.Full }

// begin says how much is recorded.
func (r *Recorder) begin(tx *Mutator, mode changelog.Mode) {
	r.tx, r.mode = tx, mode
	if mode == changelog.Off {
		return
	}
	for _, w := range tx.ws {
		w.Log = &changelog.Encoder{}
	}
}

// next says that the changes that follow are those of transaction no of the commit.
func (r *Recorder) next(no int) {
	if r.mode == changelog.Off {
		return
	}
	for _, w := range r.tx.ws {
		w.Log.Begin(no)
	}
}

// Skip records that a load kept changes out of the log: created, changed and deleted vertices, and edges.
func (r *Recorder) Skip(counts [6]uint64) error {
	for _, w := range r.tx.ws {
		if w.Log != nil && !w.Empty() {
			return w.Log.Add(&changelog.Change{Counts: counts})
		}
	}
	return nil
}

// Stop keeps the changes that follow out of the log.
func (r *Recorder) Stop() { r.mode = changelog.Off }

// keyProps returns the properties of the node keys of a label set, in ascending order.
func (r *Recorder) keyProps(set graph.LabelSet) []graph.PropID {
	if len(r.tx.defs.Keyed) == 0 || set == 0 {
		return nil
	}
	ps, ok := r.keySets[set]
	if !ok {
		for _, l := range r.tx.catalog.Labels(set) {
			ps = append(ps, keyPropsOf(r.tx.defs.ByLabel[l])...)
		}
		slices.Sort(ps)
		ps = slices.Compact(ps)
		put(&r.keySets, set, ps)
	}
	return ps
}

// keyPropsOf returns the properties of the keys among indexes.
func keyPropsOf(defs []*index.Def) (ps []graph.PropID) {
	for _, d := range defs {
		if d.IsKey() {
			ps = append(ps, d.PropIDs...)
		}
	}
	return ps
}

// prefetch reads what mutations change, in a few requests, as it was before.
func (r *Recorder) prefetch(ctx context.Context, ms []shard.Mutation) error {
	if r.mode == changelog.Off {
		return nil
	}
	r.ids, r.props, r.whole = r.ids[:0], r.props[:0], r.whole[:0]
	some := func(id graph.VertexID, ps []graph.PropID) {
		if len(ps) > 0 {
			r.ids, r.props = append(r.ids, id), append(r.props, ps...)
		}
	}
	for i := range ms {
		switch m := &ms[i]; m.Op {
		case shard.SetVertex, shard.SetLabels:
			if r.full() {
				r.whole = append(r.whole, m.Vertex)
				continue
			}
			some(m.Vertex, r.keyProps(r.tx.set(m.Vertex)))
			if m.Op == shard.SetVertex {
				r.ids = append(r.ids, m.Vertex)
				r.readsOf(m)
			}
		case shard.DeleteVertex:
			r.whole = append(r.whole, m.Vertex)
		case shard.CreateEdge, shard.SetEdge, shard.DeleteEdge:
			some(m.Edge.Src, r.keyProps(r.tx.set(m.Edge.Src)))
			some(m.Edge.Dst, r.keyProps(r.tx.set(m.Edge.Dst)))
		}
	}
	return r.fetch(ctx)
}

// readsOf notes the properties that a change sets, or an index of what it sets has.
func (r *Recorder) readsOf(m *shard.Mutation) {
	for p := range m.Props {
		r.props = append(r.props, m.Props[p].ID)
	}
	for _, l := range r.tx.catalog.Labels(r.tx.set(m.Vertex)) {
		for _, d := range r.tx.defs.ByLabel[l] {
			if d.Kind != graph.FullTextIndex && d.Touches(m.Props) {
				r.props = append(r.props, d.PropIDs...)
			}
		}
	}
}

// known appends some properties of a vertex, as they are now, to dst, if prefetch has read them.
func (r *Recorder) known(dst []graph.Value, id graph.VertexID, ps []graph.PropID) ([]graph.Value, bool) {
	if r.mode == changelog.Off {
		return dst, false
	}
	row, ok := slices.BinarySearch(r.ids, id)
	if !ok {
		return dst, false
	}
	for _, p := range ps {
		col, ok := slices.BinarySearch(r.props, p)
		if !ok {
			return dst, false
		}
		dst = append(dst, r.cols[col][row])
	}
	return dst, true
}

// fetch reads what is to be prefetched.
func (r *Recorder) fetch(ctx context.Context) error {
	read := r.tx.read
	if len(r.ids) > 0 {
		slices.Sort(r.ids)
		r.ids = slices.Compact(r.ids)
		slices.Sort(r.props)
		r.props = slices.DeleteFunc(slices.Compact(r.props), index.Hidden)
		r.cols = shard.Columns(len(r.props), len(r.ids))
		if err := read.Properties(ctx, r.ids, r.props, r.cols); err != nil {
			return err
		}
	}
	if len(r.whole) > 0 {
		slices.Sort(r.whole)
		r.whole = slices.Compact(r.whole)
		r.recs = make([]shard.Record, len(r.whole))
		if err := read.Records(ctx, r.whole, r.recs); err != nil {
			return err
		}
	}
	return nil
}

// values appends some properties of a vertex, as they were before, to dst.
func (r *Recorder) values(ctx context.Context, dst []graph.Property, id graph.VertexID, ps []graph.PropID) ([]graph.Property, error) {
	row, ok := slices.BinarySearch(r.ids, id)
	for _, p := range ps {
		col, known := slices.BinarySearch(r.props, p)
		if !ok || !known {
			return r.readValues(ctx, dst, id, ps)
		}
		dst = append(dst, graph.Property{ID: p, Value: r.cols[col][row]})
	}
	return dst, nil
}

// readValues is values for what was not prefetched.
func (r *Recorder) readValues(ctx context.Context, dst []graph.Property, id graph.VertexID, ps []graph.PropID) ([]graph.Property, error) {
	cols := shard.Columns(len(ps), 1)
	if err := r.tx.read.Properties(ctx, []graph.VertexID{id}, ps, cols); err != nil {
		return nil, err
	}
	for i, p := range ps {
		at, found := slices.BinarySearchFunc(dst, p, func(q graph.Property, id graph.PropID) int { return cmp.Compare(q.ID, id) })
		if !found {
			dst = slices.Insert(dst, at, graph.Property{ID: p, Value: cols[i][0]})
		}
	}
	return dst, nil
}

// record returns all properties of a vertex, as they were before.
func (r *Recorder) record(ctx context.Context, id graph.VertexID) ([]graph.Property, error) {
	if at, ok := slices.BinarySearch(r.whole, id); ok {
		return r.recs[at].Props, nil
	}
	var rec [1]shard.Record
	err := r.tx.read.Records(ctx, []graph.VertexID{id}, rec[:])
	return rec[0].Props, err
}

// visible appends to dst the properties that are not hidden, in ascending order; with nulls also those that are null.
func visible(dst, props []graph.Property, nulls bool) []graph.Property {
	for _, p := range staging.SortedProps(props) {
		if !index.Hidden(p.ID) && (nulls || !p.Value.IsNull()) {
			dst = append(dst, p)
		}
	}
	return dst
}

// pick appends to dst those of props, in ascending order, that ids name; those that are not there are null.
func pick(dst, props []graph.Property, ids []graph.PropID) []graph.Property {
	for _, id := range ids {
		dst = append(dst, graph.Property{ID: id, Value: valueOf(props, id)})
	}
	return dst
}

// valueOf returns a property of props, which are in ascending order, or null.
func valueOf(props []graph.Property, id graph.PropID) graph.Value {
	at, ok := slices.BinarySearchFunc(props, id, func(p graph.Property, id graph.PropID) int { return cmp.Compare(p.ID, id) })
	if !ok {
		return graph.Value{}
	}
	return props[at].Value
}

// Created records a new vertex.
func (r *Recorder) Created(id graph.VertexID, set graph.LabelSet, props []graph.Property) error {
	if r.mode == changelog.Off {
		return nil
	}
	r.after = visible(r.after[:0], props, false)
	r.note(id, r.after)
	r.keys[0] = pick(r.keys[0][:0], r.after, r.keyProps(set))
	r.c = changelog.Change{Op: changelog.Created, Full: r.full(), Vertex: id, After: changelog.State{Labels: set, Props: r.after}, Keys: r.keys[0]}
	return r.tx.ws[id.Shard()].Log.Add(&r.c)
}

// note brings what prefetch has read of a vertex up to date.
func (r *Recorder) note(id graph.VertexID, props []graph.Property) {
	if at, ok := slices.BinarySearch(r.whole, id); ok {
		r.recs[at].Props = changelog.Overlay(slices.Clone(r.recs[at].Props), props)
	}
	row, ok := slices.BinarySearch(r.ids, id)
	if !ok {
		return
	}
	for _, p := range props {
		if col, ok := slices.BinarySearch(r.props, p.ID); ok {
			r.cols[col][row] = p.Value
		}
	}
}

// set records properties, or labels, that a vertex gets, before it does. was are the present values of what is recorded, or null, until the
// next change.
func (r *Recorder) set(ctx context.Context, id graph.VertexID, old, set graph.LabelSet, props []graph.Property) (was []graph.Property, err error) {
	if r.mode == changelog.Off {
		return nil, nil
	}
	r.after = visible(r.after[:0], props, true)
	if len(r.after) == 0 && old == set {
		return nil, nil
	}
	ks := r.keyProps(set)
	var before []graph.Property
	if r.full() {
		before, err = r.record(ctx, id)
		before = visible(nil, before, false)
	} else {
		r.read = append(r.read[:0], ks...)
		for i := range r.after {
			r.read = append(r.read, r.after[i].ID)
		}
		slices.Sort(r.read)
		before, err = r.values(ctx, r.before[:0], id, slices.Compact(r.read))
	}
	if err != nil {
		return nil, err
	}
	r.before = before
	r.changed(before, r.after, ks)
	r.c.Vertex, r.c.Before.Labels, r.c.After.Labels = id, old, set
	r.note(id, r.after)
	return r.was, r.tx.ws[id.Shard()].Log.Add(&r.c)
}

// changed makes c the change of properties, from what they were before, which may be more than those, to what they are after. ks are those
// of keys.
func (r *Recorder) changed(before, after []graph.Property, ks []graph.PropID) {
	whole := after
	if len(before) > len(after) || r.full() || len(ks) > 0 {
		whole = changelog.Overlay(slices.Clone(before), after)
	}
	r.keys[0] = pick(r.keys[0][:0], whole, ks)
	if r.full() {
		after = whole
	}
	was := r.was[:0]
	for i := range after {
		was = append(was, graph.Property{ID: after[i].ID, Value: valueOf(before, after[i].ID)})
	}
	r.was = was
	r.c = changelog.Change{
		Op: changelog.Changed, Full: r.full(), Before: changelog.State{Props: was}, After: changelog.State{Props: after}, Keys: r.keys[0],
	}
}

// deleted records that a vertex is deleted, before it is.
func (r *Recorder) deleted(ctx context.Context, id graph.VertexID, set graph.LabelSet) error {
	if r.mode == changelog.Off {
		return nil
	}
	all, err := r.record(ctx, id)
	if err != nil {
		return err
	}
	r.before = visible(r.before[:0], all, false)
	r.keys[0] = pick(r.keys[0][:0], r.before, r.keyProps(set))
	r.c = changelog.Change{Op: changelog.Deleted, Full: r.full(), Vertex: id, Before: changelog.State{Labels: set, Props: r.before}, Keys: r.keys[0]}
	return r.tx.ws[id.Shard()].Log.Add(&r.c)
}

// end returns what the log keeps of an end of an edge.
func (r *Recorder) end(ctx context.Context, nth int, id graph.VertexID) (e changelog.End, err error) {
	e.Labels, _ = r.tx.sets.get(id)
	if ks := r.keyProps(e.Labels); len(ks) > 0 {
		r.keys[nth], err = r.values(ctx, r.keys[nth][:0], id, ks)
		e.Keys = r.keys[nth]
	}
	return e, err
}

// addEdge adds c as the change of an edge.
func (r *Recorder) addEdge(ctx context.Context, e graph.Edge) (err error) {
	r.c.IsEdge, r.c.Edge = true, e
	if r.c.Src, err = r.end(ctx, 1, e.Src); err != nil {
		return err
	}
	if r.c.Dst, err = r.end(ctx, 2, e.Dst); err != nil {
		return err
	}
	return r.tx.ws[e.Src.Shard()].Log.Add(&r.c)
}

// edgeKeys returns the properties of the keys of an edge type, in ascending order.
func (r *Recorder) edgeKeys(t graph.TypeID) []graph.PropID {
	defs := r.tx.defs.ByType[t]
	if len(defs) == 0 {
		return nil
	}
	ps := keyPropsOf(defs)
	slices.Sort(ps)
	return slices.Compact(ps)
}

// CreatedEdge records a new edge.
func (r *Recorder) CreatedEdge(ctx context.Context, e graph.Edge, props []graph.Property) error {
	if r.mode == changelog.Off {
		return nil
	}
	r.after = visible(r.after[:0], props, false)
	r.keys[0] = pick(r.keys[0][:0], r.after, r.edgeKeys(e.Type))
	r.c = changelog.Change{Op: changelog.Created, Full: r.full(), After: changelog.State{Props: r.after}, Keys: r.keys[0]}
	return r.addEdge(ctx, e)
}

// setEdge records properties that an edge gets, which had others before.
func (r *Recorder) setEdge(ctx context.Context, e graph.Edge, before, props []graph.Property) error {
	if r.mode == changelog.Off {
		return nil
	}
	r.after = visible(r.after[:0], props, true)
	if len(r.after) == 0 {
		return nil
	}
	r.before = visible(r.before[:0], before, false)
	r.changed(r.before, r.after, r.edgeKeys(e.Type))
	return r.addEdge(ctx, e)
}

// deletedEdge records that an edge with some properties is deleted.
func (r *Recorder) deletedEdge(ctx context.Context, e graph.Edge, props []graph.Property) error {
	if r.mode == changelog.Off {
		return nil
	}
	r.before = visible(r.before[:0], props, false)
	r.keys[0] = pick(r.keys[0][:0], r.before, r.edgeKeys(e.Type))
	r.c = changelog.Change{Op: changelog.Deleted, Full: r.full(), Before: changelog.State{Props: r.before}, Keys: r.keys[0]}
	return r.addEdge(ctx, e)
}
