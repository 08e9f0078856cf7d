package past

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// entries are those that elements which later commits have changed had in an index, or would have had.
type entries struct {
	covered uint64
	changed int // of moment.vs, or moment.es, those that the entries know
	sorted  []shard.Entry
	hashes  places // of their tuples
}

// index returns the definition of an index.
func (r *reader) index(id graph.IndexID) (*graph.Index, error) {
	all := r.names.Indexes()
	for i := range all {
		if all[i].ID == id {
			return &all[i], nil
		}
	}
	return nil, graph.InternalError("there is no such index", nil)
}

// open returns the definition of an index with entries, and what changed elements had there: nil if no element that it covers has changed.
// Whether the present transaction can read the index, it says itself.
func (r *reader) open(ctx context.Context, id graph.IndexID) (*graph.Index, *entries, error) {
	ix, err := r.index(id)
	if err != nil {
		return nil, nil, err
	}
	l, _ := r.names.Label(ix.Label)
	t, _ := r.names.Type(ix.Type)
	switch {
	case ix.Type != "" && r.changedEdges(t), ix.Label != "" && r.changed(l):
		e, err := r.entries(ctx, ix, l, t)
		return ix, e, err
	case ix.Type == "" && ix.Label == "" && r.changed(0):
		return nil, nil, spaceMoved(ix, r.m.number)
	}
	return ix, nil, nil
}

// entries returns those of an index, with what commits up to that of the present transaction have changed.
func (r *reader) entries(ctx context.Context, ix *graph.Index, l graph.LabelID, t graph.TypeID) (*entries, error) {
	d := &r.m.derived
	d.Lock()
	have := d.entries[ix.ID]
	d.Unlock()
	if have != nil && have.covered >= r.at {
		return have, nil
	}
	owners, e := r.owners(ix, l, t)
	var props []graph.PropID
	for _, name := range ix.Props {
		p, _ := r.names.Prop(name)
		props = append(props, p)
	}
	size := 0
	for some := range slices.Chunk(owners, graph.BatchSize) {
		cols := shard.Columns(len(props), len(some))
		if err := r.values(ctx, some, t, props, cols); err != nil {
			return nil, err
		}
		vals := make([]graph.Value, len(props))
		for i, o := range some {
			for p := range props {
				vals[p] = cols[p][i]
			}
			tuple, ok, _, err := view.AppendIndexed(nil, ix, vals)
			switch {
			case err != nil:
				return nil, err
			case ok:
				e.sorted = append(e.sorted, shard.Entry{Tuple: tuple, Owner: o})
				size += elementBytes + len(tuple)
			}
		}
	}
	slices.SortFunc(e.sorted, shard.Entry.Compare)
	for i := range e.sorted {
		e.hashes.put(xxhash.Sum64(e.sorted[i].Tuple), i)
	}
	d.Lock()
	had := d.entries[ix.ID]
	if had != nil && had.covered >= e.covered {
		d.Unlock()
		return had, nil
	}
	if had != nil {
		size -= had.size()
	}
	d.entries[ix.ID] = e
	d.Unlock()
	if err := r.h.count(r.m, size); err != nil {
		d.Lock()
		defer d.Unlock()
		delete(d.entries, ix.ID)
		return nil, err
	}
	return e, nil
}

// has reports whether there may be entries of a tuple.
func (e *entries) has(tuple []byte) bool { return e.hashes.get(xxhash.Sum64(tuple)) >= 0 }

func (e *entries) size() (bytes int) {
	for i := range e.sorted {
		bytes += elementBytes + len(e.sorted[i].Tuple)
	}
	return bytes
}

// owners returns the changed elements that the index covered, and their entries, yet to be filled.
func (r *reader) owners(ix *graph.Index, l graph.LabelID, t graph.TypeID) (owners []graph.IndexOwner, e *entries) {
	m := r.m
	m.mu.RLock()
	defer m.mu.RUnlock()
	if ix.Type != "" {
		for i := range m.es {
			if e := &m.es[i]; e.was() && e.Type == t {
				owners = append(owners, edgeOwner(e.Edge))
			}
		}
		return owners, &entries{covered: m.covered, changed: len(m.es)}
	}
	for i := range m.vs {
		if v := &m.vs[i]; v.labels != 0 && hasLabel(r.names, v.labels, l) {
			owners = append(owners, graph.IndexOwner{Vertex: v.id})
		}
	}
	return owners, &entries{covered: m.covered, changed: len(m.vs)}
}

// values reads properties of owners, edges if t is not 0.
func (r *reader) values(ctx context.Context, owners []graph.IndexOwner, t graph.TypeID, props []graph.PropID, cols [][]graph.Value) error {
	if t != 0 {
		edges := make([]graph.Edge, len(owners))
		for i, o := range owners {
			edges[i] = index.EdgeOf(o, t)
		}
		return r.EdgeProperties(ctx, edges, props, cols)
	}
	ids := make([]graph.VertexID, len(owners))
	for i, o := range owners {
		ids[i] = o.Vertex
	}
	return r.Properties(ctx, ids, props, cols)
}

// replaces reports whether the entries override a present entry of an owner. The caller holds the moment's lock.
func (e *entries) replaces(m *moment, o graph.IndexOwner) bool {
	var at int
	if o.IsEdge {
		at = m.edges.get(uint64(o.Edge))
	} else {
		at = m.vertices.get(uint64(o.Vertex))
	}
	return at >= 0 && at < e.changed
}

// patch puts into the answer to a look-up what changed elements had. of and make convert between its elements and owners.
func patch[T any](
	m *moment, e *entries, vals []graph.Value, width int, offsets []int, found []T, of func(T) graph.IndexOwner, from func(graph.IndexOwner) T,
) ([]int, []T) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var room [64]byte
	key := room[:0]
	same := !slices.ContainsFunc(found, func(f T) bool { return e.replaces(m, of(f)) })
	for k := 0; k < len(offsets)-1 && same; k++ {
		tuple, ok, loose, err := view.AppendTuple(key[:0], vals[k*width:(k+1)*width])
		key, same = tuple, !ok || loose || err != nil || !e.has(tuple)
	}
	if same {
		return offsets, found
	}
	out, at, start := make([]T, 0, len(found)), 0, 0
	for k := 1; k < len(offsets); k++ {
		for ; at < offsets[k]; at++ {
			if !e.replaces(m, of(found[at])) {
				out = append(out, found[at])
			}
		}
		tuple, ok, loose, err := view.AppendTuple(key[:0], vals[(k-1)*width:k*width])
		if key = tuple; ok && !loose && err == nil && e.has(tuple) {
			own := len(out)
			i, _ := slices.BinarySearchFunc(e.sorted, tuple, func(e shard.Entry, t []byte) int { return bytes.Compare(e.Tuple, t) })
			for ; i < len(e.sorted) && bytes.Equal(e.sorted[i].Tuple, tuple); i++ {
				out = append(out, from(e.sorted[i].Owner))
			}
			if own > start && len(out) > own {
				slices.SortFunc(out[start:], func(a, b T) int { return cmp.Compare(of(a).ID(), of(b).ID()) })
			}
		}
		offsets[k], start = len(out), len(out)
	}
	return offsets, out
}

func same(o graph.IndexOwner) graph.IndexOwner { return o }

// Lookup implements shard.Indexes.
func (r *reader) Lookup(ctx context.Context, ref shard.IndexRef, vals []graph.Value) ([]int, []graph.IndexOwner, error) {
	_, e, err := r.open(ctx, ref.ID)
	if err != nil {
		return nil, nil, err
	}
	offsets, owners, err := r.tx.Lookup(ctx, ref, vals)
	if err != nil || e == nil {
		return offsets, owners, err
	}
	offsets, owners = patch(r.m, e, vals, ref.Width, slices.Clone(offsets), owners, same, same)
	return offsets, owners, nil
}

// Seek implements shard.Tx.
func (t *tx) Seek(ctx context.Context, req *shard.Seek, res *shard.Found) error {
	ix, e, err := t.r.open(ctx, req.Index)
	if err != nil {
		return err
	}
	if err := t.r.tx.Seek(ctx, req, res); err != nil || e == nil {
		return err
	}
	res.Offsets, res.IDs = patch(t.r.m, e, req.Keys, shard.RefOf(ix).Width, res.Offsets, res.IDs,
		func(v graph.VertexID) graph.IndexOwner { return graph.IndexOwner{Vertex: v} }, func(o graph.IndexOwner) graph.VertexID { return o.Vertex })
	return nil
}

// SeekEdges implements shard.Tx.
func (t *tx) SeekEdges(ctx context.Context, req *shard.Seek, res *shard.FoundEdges) error {
	ix, e, err := t.r.open(ctx, req.Index)
	if err != nil {
		return err
	}
	if err := t.r.tx.SeekEdges(ctx, req, res); err != nil || e == nil {
		return err
	}
	typ, _ := t.r.names.Type(ix.Type)
	res.Offsets, res.Edges = patch(t.r.m, e, req.Keys, shard.RefOf(ix).Width, res.Offsets, res.Edges,
		edgeOwner, func(o graph.IndexOwner) graph.Edge { return index.EdgeOf(o, typ) })
	return nil
}

// Range implements shard.Indexes.
func (r *reader) Range(ctx context.Context, ref shard.IndexRef, rg shard.Range, cursor []byte, room int) ([]shard.Entry, bool, error) {
	_, e, err := r.open(ctx, ref.ID)
	if err != nil {
		return nil, false, err
	}
	if e == nil {
		return r.tx.Range(ctx, ref, rg, cursor, room)
	}
	spans := index.Spans(&rg)
	for {
		there, more, err := r.tx.Range(ctx, ref, rg, cursor, room)
		if err != nil {
			return nil, false, err
		}
		var last *shard.Entry
		if more {
			last = &shard.Entry{Tuple: there[len(there)-1].Tuple, Owner: there[len(there)-1].Owner}
		}
		most := max(room, len(there))
		if room == 0 {
			most = max(graph.BatchSize, len(there))
		}
		own, err := e.within(spans, cursor, last, rg.Down, most+1)
		if err != nil {
			return nil, false, err
		}
		there = e.stay(r.m, there)
		all := merge(there, own, rg.Down)
		if len(all) > most {
			return all[:most], true, nil
		}
		if len(all) > 0 || !more {
			return all, more, nil
		}
		cursor = last.Cursor()
	}
}

// stay leaves the entries of the present that stay, in their memory.
func (e *entries) stay(m *moment, there []shard.Entry) []shard.Entry {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.DeleteFunc(there, func(x shard.Entry) bool { return e.replaces(m, x.Owner) })
}

// within returns at most n entries of spans after a cursor and, if last is not nil, up to that, in the order of the range.
func (e *entries) within(spans []index.Span, cursor []byte, last *shard.Entry, down bool, n int) (out []shard.Entry, err error) {
	all := e.sorted
	first, ok := shard.Entry{}, false
	if cursor != nil {
		if first, ok = shard.EntryAt(cursor); !ok {
			return nil, graph.InternalError("a malformed cursor", nil)
		}
	}
	// The bounds that the cursor and the last entry of the present set, as an interval of entries.
	lo, hi := 0, len(all)
	after := func(x shard.Entry) int { // of the first entry above x
		i, found := slices.BinarySearchFunc(all, x, shard.Entry.Compare)
		if found {
			i++
		}
		return i
	}
	before := func(x shard.Entry) int { // of the first entry not below x
		i, _ := slices.BinarySearchFunc(all, x, shard.Entry.Compare)
		return i
	}
	switch {
	case down:
		if ok {
			hi = before(first)
		}
		if last != nil {
			lo = before(*last)
		}
	default:
		if ok {
			lo = after(first)
		}
		if last != nil {
			hi = after(*last)
		}
	}
	at := func(key []byte) int {
		i, _ := slices.BinarySearchFunc(all, key, func(e shard.Entry, k []byte) int { return bytes.Compare(e.Tuple, k) })
		return i
	}
	for i := range spans {
		s := spans[i]
		if down {
			s = spans[len(spans)-1-i]
		}
		from, to := max(lo, at(s.Lower)), hi
		if s.Upper != nil {
			to = min(hi, at(s.Upper))
		}
		if from >= to {
			continue
		}
		some := all[from:to]
		if k := n - len(out); len(some) > k {
			if down {
				some = some[len(some)-k:]
			} else {
				some = some[:k]
			}
		}
		out = append(out, some...)
		if down {
			slices.Reverse(out[len(out)-len(some):])
		}
	}
	return out, nil
}

// merge puts two sequences of entries together, in the order of a range.
func merge(a, b []shard.Entry, down bool) []shard.Entry {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	out := make([]shard.Entry, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if (a[0].Compare(b[0]) < 0) != down {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}
