package local

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// indexDefs gives the indexes as the transaction sees them: an index that came online after a reader's cut was made is not
// whole there, and one that was dropped afterwards still is.
func (tx *Tx) indexDefs() *indexDefs {
	if tx.cut != nil {
		return tx.cut.defs
	}
	return tx.defs
}

// vertexIndex gives an index over vertices that may be read, or a bare id space.
func (tx *Tx) vertexIndex(id graph.IndexID) (*indexDef, error) {
	d := tx.indexDefs().byID[id]
	switch {
	case d == nil || !d.Indexed || d.Type != "":
		return nil, misuse("there is no index %d over vertices", id)
	case !d.Online:
		return nil, unavailableIndex(d)
	}
	return d, nil
}

func unavailableIndex(d *indexDef) error {
	return newError(graph.KindUnavailable, "Neo.TransientError.General.DatabaseUnavailable", "IndexOffline", "the index %s is being built", d.Name)
}

// Seek implements shard.Tx.
func (tx *Tx) Seek(ctx context.Context, index graph.IndexID, vals []graph.Value, res *shard.Found) error {
	if err := tx.check(ctx); err != nil {
		return err
	}
	d, err := tx.vertexIndex(index)
	if err != nil {
		return err
	}
	width := max(1, len(d.Props))
	if len(vals)%width != 0 {
		return misuse("the keys of a seek are no whole tuples")
	}
	n := len(vals) / width
	res.Offsets, res.IDs = append(res.Offsets[:0], 0), res.IDs[:0]
	// The tuples lie in one buffer; those that find nothing are left out.
	var buf []byte
	ends, at := make([]int, 0, n), make([]int, 0, n)
	for k := range n {
		start := len(buf)
		key, ok, nan, err := storage.AppendTuple(buf, vals[k*width:(k+1)*width])
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
		k  int
		id graph.VertexID
	}
	var hits []hit
	for _, v := range tx.views {
		err := v.Seek(ctx, index, tuples, func(k int, o storage.Owner) { hits = append(hits, hit{at[k], o.Vertex}) })
		if err != nil {
			return err
		}
	}
	for i, t := range tuples {
		for _, o := range tx.dups[dupKey(index, t)] {
			hits = append(hits, hit{at[i], o.Vertex})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Or(cmp.Compare(a.k, b.k), cmp.Compare(a.id, b.id)) })
	for k := range n {
		for len(hits) > 0 && hits[0].k == k {
			res.IDs = append(res.IDs, hits[0].id)
			hits = hits[1:]
		}
		res.Offsets = append(res.Offsets, len(res.IDs))
	}
	return nil
}

// found is an entry of a range; tuple is its place.
type found struct {
	tuple []byte
	id    graph.VertexID
}

func (a found) compare(b found) int {
	return cmp.Or(bytes.Compare(a.tuple, b.tuple), cmp.Compare(a.id, b.id))
}

// SeekRange implements shard.Tx. The cursor is the last entry's values, ordered, and its vertex.
func (tx *Tx) SeekRange(ctx context.Context, index graph.IndexID, r shard.Range, cursor *[]byte, dst []graph.VertexID) ([]graph.VertexID, error) {
	if err := tx.check(ctx); err != nil {
		return dst, err
	}
	d, err := tx.vertexIndex(index)
	if err != nil {
		return dst, err
	}
	lower, upper, empty := storage.RangeBounds(r.Lo, r.Hi, r.LoOpen, r.HiOpen, r.Prefix)
	if empty {
		*cursor = nil
		return dst, nil
	}
	var after found
	if *cursor != nil {
		n := len(*cursor) - 8
		if n < 0 {
			return dst, misuse("a malformed cursor")
		}
		after = found{(*cursor)[:n], graph.VertexID(binary.BigEndian.Uint64((*cursor)[n:]))}
		lower = after.tuple
	}
	room := cap(dst) - len(dst)
	if room == 0 {
		room = graph.BatchSize
	}
	var all []found
	more := false
	for _, v := range tx.views {
		n := 0
		err := v.Walk(ctx, index, lower, upper, func(rest []byte, o storage.Owner) bool {
			e := found{rest, o.Vertex}
			if !d.Unique {
				e.tuple = rest[:len(rest)-keys.LocalSize]
			}
			if *cursor != nil && e.compare(after) <= 0 {
				return true
			}
			if n == room {
				more = true
				return false
			}
			e.tuple = bytes.Clone(e.tuple)
			all = append(all, e)
			n++
			return true
		})
		if err != nil {
			return dst, err
		}
	}
	// A violation of the constraint lasts until commit at most.
	for key, owners := range tx.dups {
		tuple := []byte(key)[4:]
		if graph.IndexID(binary.BigEndian.Uint32([]byte(key))) != index || bytes.Compare(tuple, lower) < 0 || upper != nil && bytes.Compare(tuple, upper) >= 0 {
			continue
		}
		for _, o := range owners {
			if e := (found{tuple, o.Vertex}); *cursor == nil || e.compare(after) > 0 {
				all = append(all, e)
			}
		}
	}
	if len(tx.views) > 1 || len(tx.dups) > 0 {
		slices.SortFunc(all, found.compare)
	}
	if len(all) > room {
		all, more = all[:room], true
	}
	for _, e := range all {
		dst = append(dst, e.id)
	}
	if !more {
		*cursor = nil
		return dst, nil
	}
	last := all[len(all)-1]
	*cursor = binary.BigEndian.AppendUint64(bytes.Clone(last.tuple), uint64(last.id))
	return dst, nil
}
