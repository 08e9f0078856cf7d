package read

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"sync"

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
	keeps := tx.keepsKeys(d)
	rest := req.Keys
	res.IDs, res.Offsets = res.IDs[:0], append(res.Offsets[:0], 0)
	if keeps {
		if rest = tx.seekKnown(d, rest, res); len(rest) == 0 {
			return nil
		}
	}
	l := lookups.Get().(*lookup)
	defer l.end()
	if err := l.begin(d, rest); err != nil {
		return err
	}
	if keeps {
		l.recall(tx)
	}
	if err := tx.find(ctx, l, keeps); err != nil {
		return err
	}
	res.Offsets = l.give(res.Offsets, func(o graph.IndexOwner) { res.IDs = append(res.IDs, o.Vertex) })
	return nil
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

// lookup is what one look-up of keys in an index needs memory for.
type lookup struct {
	d      *index.Def
	n      int    // keys
	buf    []byte // has the tuples
	tuples []tuple
	keys   [][]byte // of tuples, during a search
	hits   []hit
	first  []int32 // by key: the place of its first owner in owners; at the end how many these are
	owners []graph.IndexOwner
}

// tuple is the ordered form of a key that may have an entry.
type tuple struct{ from, to, at int32 }

// hit is an owner of the key with a number.
type hit struct {
	at int32
	o  graph.IndexOwner
}

var lookups = sync.Pool{New: func() any { return new(lookup) }}

func (l *lookup) end() {
	clear(l.keys)
	l.d = nil
	lookups.Put(l)
}

// begin encodes keys. Those that no entry can have are left out.
func (l *lookup) begin(d *index.Def, vals []graph.Value) error {
	width := max(1, len(d.Props))
	if len(vals)%width != 0 {
		return fail.Misuse("incomplete tuple in the keys of a seek")
	}
	l.d, l.n = d, len(vals)/width
	l.buf, l.tuples, l.hits = l.buf[:0], l.tuples[:0], l.hits[:0]
	for k := range l.n {
		start := len(l.buf)
		buf, ok, loose, err := view.AppendTuple(l.buf, vals[k*width:(k+1)*width])
		// What is too large or of the wrong type for the index is in no entry.
		if err != nil || !ok || loose {
			l.buf = buf[:start]
			continue
		}
		l.buf = buf
		l.tuples = append(l.tuples, tuple{int32(start), int32(len(buf)), int32(k)})
	}
	return nil
}

func (l *lookup) key(t tuple) []byte { return l.buf[t.from:t.to] }

// recall takes the keys whose owners the cache knows.
func (l *lookup) recall(tx *Tx) {
	rest := l.tuples[:0]
	for _, t := range l.tuples {
		if id, ok := tx.on.Topology.keys.Get(tx.snap.Seq, l.d.ID, l.key(t)); ok {
			l.hits = append(l.hits, hit{t.at, graph.IndexOwner{Vertex: id}})
		} else {
			rest = append(rest, t)
		}
	}
	l.tuples = rest
}

// find looks keys up in one pass over the index; keep lets the cache keep their owners.
func (tx *Reader) find(ctx context.Context, l *lookup, keep bool) error {
	order := func(a, b tuple) int { return bytes.Compare(l.key(a), l.key(b)) }
	if !slices.IsSortedFunc(l.tuples, order) {
		slices.SortFunc(l.tuples, order)
	}
	l.keys = l.keys[:0]
	for _, t := range l.tuples {
		l.keys = append(l.keys, l.key(t))
	}
	for _, v := range tx.views {
		if v == nil {
			continue
		}
		err := v.Seek(ctx, l.d.ID, l.keys, func(k int, o graph.IndexOwner) {
			l.hits = append(l.hits, hit{l.tuples[k].at, o})
			if keep {
				tx.on.Topology.keys.Put(tx.snap.Seq, l.d.ID, l.keys[k], o.Vertex)
			}
		})
		if err != nil {
			return err
		}
	}
	if len(tx.dups()) > 0 {
		for k, t := range l.tuples {
			for _, o := range tx.dups()[DuplicateKey(l.d.ID, l.keys[k])] {
				l.hits = append(l.hits, hit{t.at, o})
			}
		}
		slices.SortFunc(l.hits, func(a, b hit) int { return cmp.Compare(a.o.ID(), b.o.ID()) })
	}
	return nil
}

// give calls f with the owners of each key, in the order of their ids, and appends to offsets how many were given before the next.
func (l *lookup) give(offsets []int, f func(o graph.IndexOwner)) []int {
	// The hits of one key are in order.
	l.first = slices.Grow(l.first[:0], l.n+1)[:l.n+1]
	clear(l.first)
	for i := range l.hits {
		l.first[l.hits[i].at+1]++
	}
	for k := range l.n {
		l.first[k+1] += l.first[k]
	}
	l.owners = slices.Grow(l.owners[:0], len(l.hits))[:len(l.hits)]
	for i := range l.hits {
		h := &l.hits[i]
		l.owners[l.first[h.at]] = h.o
		l.first[h.at]++
	}
	// Each place is now that of the next key.
	at, before := int32(0), offsets[len(offsets)-1]
	for _, end := range l.first[:l.n] {
		for ; at < end; at++ {
			f(l.owners[at])
		}
		offsets = append(offsets, before+int(end))
	}
	return offsets
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
	if err := tx.Alive(ctx); err != nil {
		return nil, nil, err
	}
	l := lookups.Get().(*lookup)
	defer l.end()
	if err := l.begin(defOf(r), vals); err != nil {
		return nil, nil, err
	}
	if err := tx.find(ctx, l, false); err != nil {
		return nil, nil, err
	}
	offsets = l.give([]int{0}, func(o graph.IndexOwner) { owners = append(owners, o) })
	return offsets, owners, nil
}

// Range implements shard.PartTx.
func (tx *Reader) Range(ctx context.Context, ref shard.IndexRef, r shard.Range, cursor []byte, room int) (entries []shard.Entry, more bool, err error) {
	entries, err = tx.seekRange(ctx, defOf(ref), r, &cursor, room)
	return entries, cursor != nil, err
}

// seekKnown looks up the leading keys of a unique index over vertices in the cache, as far as it has them, and returns the others.
func (tx *Tx) seekKnown(d *index.Def, vals []graph.Value, res *shard.Found) (rest []graph.Value) {
	width := max(1, len(d.Props))
	var buf [2 * cache.MostKey]byte
	for ; len(vals) >= width; vals = vals[width:] {
		key, ok, loose, err := view.AppendTuple(buf[:0], vals[:width])
		if err != nil || !ok || loose {
			break
		}
		id, ok := tx.on.Topology.keys.Get(tx.snap.Seq, d.ID, key)
		if !ok {
			break
		}
		res.IDs = append(res.IDs, id)
		res.Offsets = append(res.Offsets, len(res.IDs))
	}
	return vals
}

// keepsKeys reports whether look-ups in an index may be cached: the index is unique, and the transaction has not changed it.
func (tx *Tx) keepsKeys(d *index.Def) bool {
	if !d.Unique || tx.plain || tx.snap == nil || len(tx.dups()) > 0 {
		return false
	}
	return tx.over == nil || !slices.ContainsFunc(tx.over.writers, func(w *staging.Writer) bool { return w.Entries.Changed() })
}
