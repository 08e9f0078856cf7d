package read

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/storage/cache"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/staging"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// index returns an index that may be read: over vertices, or a bare id space, or over edges.
func (tx *Tx) index(id graph.IndexID, edges bool) (*index.Def, error) {
	d := tx.defs.ByID[id]
	switch {
	case d == nil || !d.Indexed || d.Kind == graph.FullTextIndex || edges != (d.Type != ""):
		return nil, fail.Misuse("no such index %d", id)
	case !d.Online:
		return nil, index.Unavailable(d)
	}
	return d, nil
}

// Seek implements shard.Tx.
func (tx *Tx) Seek(ctx context.Context, req *shard.Seek, res *shard.Found) (err error) {
	d, err := tx.index(req.Index, false)
	if err != nil {
		return err
	}
	if err := tx.Alive(ctx); err != nil {
		return err
	}
	if tx.seekKnown(d, req.Keys, res) {
		return nil
	}
	res.IDs = res.IDs[:0]
	res.Offsets, err = tx.seek(ctx, d, req.Keys, res.Offsets[:0], func(o graph.IndexOwner) { res.IDs = append(res.IDs, o.Vertex) })
	if err == nil {
		tx.keepKeys(d, req.Keys, res)
	}
	return err
}

// SeekEdges implements shard.Tx.
func (tx *Tx) SeekEdges(ctx context.Context, req *shard.Seek, res *shard.FoundEdges) error {
	d, err := tx.index(req.Index, true)
	if err != nil {
		return err
	}
	t, _ := tx.names.Type(d.Type)
	return shard.LookupEdges(ctx, tx, shard.RefOf(&d.Index), t, req.Keys, res)
}

// seek calls f with the owners of each tuple of values, and appends to offsets how many it was before each and at the end.
func (tx *Reader) seek(ctx context.Context, d *index.Def, vals []graph.Value, offsets []int, f func(o graph.IndexOwner)) ([]int, error) {
	if err := tx.Alive(ctx); err != nil {
		return offsets, err
	}
	width := max(1, len(d.Props))
	if len(vals)%width != 0 {
		return offsets, fail.Misuse("incomplete tuple in the keys of a seek")
	}
	n := len(vals) / width
	offsets = append(offsets, 0)
	// The tuples lie in one buffer; those that find nothing are left out.
	var buf []byte
	ends, at := make([]int, 0, n), make([]int, 0, n)
	for k := range n {
		start := len(buf)
		key, ok, nan, err := view.AppendTuple(buf, vals[k*width:(k+1)*width])
		if err != nil {
			// What is too large or of the wrong type for the index is in no entry.
			key, ok = buf[:start], false
		}
		buf = key
		if !ok || nan {
			buf = buf[:start]
			continue
		}
		ends, at = append(ends, len(buf)), append(at, k)
	}
	tuples := make([][]byte, len(ends))
	start := 0
	for i, e := range ends {
		tuples[i] = buf[start:e]
		start = e
	}
	type hit struct {
		k int
		o graph.IndexOwner
	}
	var hits []hit
	for _, v := range tx.views {
		if v == nil {
			continue
		}
		err := v.Seek(ctx, d.ID, tuples, func(k int, o graph.IndexOwner) { hits = append(hits, hit{at[k], o}) })
		if err != nil {
			return offsets, err
		}
	}
	if len(tx.dups()) > 0 {
		for i, t := range tuples {
			for _, o := range tx.dups()[DuplicateKey(d.ID, t)] {
				hits = append(hits, hit{at[i], o})
			}
		}
	}
	if len(hits) > 1 {
		slices.SortFunc(hits, func(a, b hit) int { return cmp.Or(cmp.Compare(a.k, b.k), cmp.Compare(a.o.ID(), b.o.ID())) })
	}
	given := 0
	for k := range n {
		for ; given < len(hits) && hits[given].k == k; given++ {
			f(hits[given].o)
		}
		offsets = append(offsets, given)
	}
	return offsets, nil
}

// SeekRange implements shard.Tx.
func (tx *Tx) SeekRange(ctx context.Context, index graph.IndexID, r shard.Range, cursor *[]byte, dst []graph.VertexID) ([]graph.VertexID, error) {
	d, err := tx.index(index, false)
	if err != nil {
		return dst, err
	}
	return shard.RangeVertices(ctx, tx, shard.RefOf(&d.Index), r, cursor, dst)
}

// SeekEdgeRange implements shard.Tx.
func (tx *Tx) SeekEdgeRange(ctx context.Context, index graph.IndexID, r shard.Range, cursor *[]byte, dst []graph.Edge) ([]graph.Edge, error) {
	d, err := tx.index(index, true)
	if err != nil {
		return dst, err
	}
	t, _ := tx.names.Type(d.Type)
	return shard.RangeEdges(ctx, tx, shard.RefOf(&d.Index), t, r, cursor, dst)
}

// seekRange returns the next room entries of a range. The cursor is the last entry's values, ordered, and its owner's id.
func (tx *Reader) seekRange(ctx context.Context, d *index.Def, r shard.Range, cursor *[]byte, room int) ([]shard.Entry, error) {
	if err := tx.Alive(ctx); err != nil {
		return nil, err
	}
	spans := index.Spans(&r)
	var after shard.Entry
	if *cursor != nil {
		var ok bool
		if after, ok = shard.EntryAt(*cursor); !ok {
			return nil, fail.Misuse("malformed cursor")
		}
		if r.Down {
			spans = index.Below(spans, keys.AppendSuccessor(nil, after.Tuple))
		} else {
			spans = index.Above(spans, after.Tuple)
		}
	}
	order := shard.Entry.Compare
	if r.Down {
		order = func(a, b shard.Entry) int { return b.Compare(a) }
		slices.Reverse(spans)
	}
	if room == 0 {
		room = graph.BatchSize
	}
	var tuples []byte // of all, which outlive the walk
	all := make([]shard.Entry, 0, min(room, graph.BatchSize))
	more := false
	for _, v := range tx.views {
		if v == nil {
			continue
		}
		n, full := 0, false
		for _, s := range spans {
			err := v.Walk(ctx, d.ID, s.Lower, s.Upper, r.Down, func(rest []byte, o graph.IndexOwner) bool {
				e := shard.Entry{Tuple: rest, Owner: o}
				if !d.Unique {
					e.Tuple = rest[:len(rest)-keys.LocalSize]
				}
				if *cursor != nil && order(e, after) <= 0 {
					return true
				}
				if n == room {
					full = true
					return false
				}
				tuples = append(tuples, e.Tuple...)
				e.Tuple = tuples[len(tuples)-len(e.Tuple):]
				all = append(all, e)
				n++
				return true
			})
			if err != nil {
				return nil, err
			}
			if full {
				more = true
				break
			}
		}
	}
	// A violation of the constraint lasts until the commit at most.
	for key, owners := range tx.dups() {
		tuple := []byte(key)[4:]
		if graph.IndexID(binary.BigEndian.Uint32([]byte(key))) != d.ID || !slices.ContainsFunc(spans, func(s index.Span) bool { return s.Holds(tuple) }) {
			continue
		}
		for _, o := range owners {
			if e := (shard.Entry{Tuple: tuple, Owner: o}); *cursor == nil || order(e, after) > 0 {
				all = append(all, e)
			}
		}
	}
	if len(tx.views) > 1 || len(tx.dups()) > 0 {
		slices.SortFunc(all, order)
	}
	if len(all) > room {
		all, more = all[:room], true
	}
	if !more {
		*cursor = nil
		return all, nil
	}
	*cursor = all[len(all)-1].Cursor()
	return all, nil
}

// defOf returns as much of an index's definition as reading takes.
func defOf(r shard.IndexRef) *index.Def {
	return &index.Def{Index: graph.Index{ID: r.ID, Unique: r.Unique, Props: make([]string, r.Width)}}
}

// Lookup implements shard.PartTx.
func (tx *Reader) Lookup(ctx context.Context, r shard.IndexRef, vals []graph.Value) (offsets []int, owners []graph.IndexOwner, err error) {
	offsets, err = tx.seek(ctx, defOf(r), vals, nil, func(o graph.IndexOwner) { owners = append(owners, o) })
	return offsets, owners, err
}

// Range implements shard.PartTx.
func (tx *Reader) Range(ctx context.Context, ref shard.IndexRef, r shard.Range, cursor []byte, room int) (entries []shard.Entry, more bool, err error) {
	entries, err = tx.seekRange(ctx, defOf(ref), r, &cursor, room)
	return entries, cursor != nil, err
}

// seekKnown looks up the keys of a unique index over vertices in the cache; ok is false unless it has all.
func (tx *Tx) seekKnown(d *index.Def, vals []graph.Value, res *shard.Found) (ok bool) {
	width := max(1, len(d.Props))
	if !tx.keepsKeys(d) || len(vals)%width != 0 {
		return false
	}
	var buf [2 * cache.MostKey]byte
	res.IDs, res.Offsets = res.IDs[:0], append(res.Offsets[:0], 0)
	for ; len(vals) > 0; vals = vals[width:] {
		key, ok, loose, err := view.AppendTuple(buf[:0], vals[:width])
		if err != nil || !ok || loose {
			return false
		}
		id, ok := tx.on.Topology.keys.Get(tx.snap.Seq, d.ID, key)
		if !ok {
			return false
		}
		res.IDs = append(res.IDs, id)
		res.Offsets = append(res.Offsets, len(res.IDs))
	}
	return true
}

// keepKeys caches what a look-up in a unique index over vertices has found.
func (tx *Tx) keepKeys(d *index.Def, vals []graph.Value, res *shard.Found) {
	if !tx.keepsKeys(d) {
		return
	}
	width := max(1, len(d.Props))
	var buf [2 * cache.MostKey]byte
	for k := range len(res.Offsets) - 1 {
		if res.Offsets[k+1]-res.Offsets[k] != 1 {
			continue
		}
		key, ok, loose, err := view.AppendTuple(buf[:0], vals[k*width:(k+1)*width])
		if err == nil && ok && !loose {
			tx.on.Topology.keys.Put(tx.snap.Seq, d.ID, key, res.IDs[res.Offsets[k]])
		}
	}
}

// keepsKeys reports whether look-ups in an index may be cached: the index is unique, and the transaction has not changed it.
func (tx *Tx) keepsKeys(d *index.Def) bool {
	if !d.Unique || tx.plain || tx.snap == nil || len(tx.dups()) > 0 {
		return false
	}
	return tx.over == nil || !slices.ContainsFunc(tx.over.writers, func(w *staging.Writer) bool { return w.Entries.Changed() })
}
