package view

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// An index's entries are
//
//	unique   index, values        → owner
//	plain    index, values, local → owner
//
// where the values are ordered, see package keys, and the owner is a vertex's local id, or for an edge the source's
// local id, the target (8 bytes) and the edge (8 bytes); local is the owner's own. A unique index stores values with
// NaN, or with null after the first one, like a plain index, since these equal nothing. A tuple without a first value has no entry.
const (
	ownerVertex = keys.LocalSize
	ownerEdge   = keys.LocalSize + 16
)

// AppendOwner appends the stored form of an owner.
func AppendOwner(dst []byte, o graph.IndexOwner) []byte {
	dst = keys.AppendLocal(dst, o.Vertex.Local())
	if o.IsEdge {
		dst = binary.BigEndian.AppendUint64(dst, uint64(o.Dst))
		dst = binary.BigEndian.AppendUint64(dst, uint64(o.Edge))
	}
	return dst
}

// Owner reads the owner in the value of an entry.
func (v *View) Owner(key, b []byte) (graph.IndexOwner, error) {
	if len(b) != ownerVertex && len(b) != ownerEdge {
		return graph.IndexOwner{}, kv.Corrupt("index entry", key, codec.ErrRecord)
	}
	o := graph.IndexOwner{Vertex: graph.MakeVertexID(v.No(), keys.Local(b))}
	if len(b) == ownerEdge {
		o.IsEdge = true
		o.Dst = graph.VertexID(binary.BigEndian.Uint64(b[6:]))
		o.Edge = graph.EdgeID(binary.BigEndian.Uint64(b[14:]))
	}
	return o, nil
}

// AppendTuple appends the ordered key of a tuple of indexed values. ok is false if the first is null, so that there is no
// entry; a range over the first value finds all others. loose reports that the tuple equals none, not even itself: a later
// value is null, or one holds NaN.
func AppendTuple(dst []byte, vals []graph.Value) (key []byte, ok, loose bool, err error) {
	for i, v := range vals {
		if v.IsNull() && i == 0 {
			return dst, false, false, nil
		}
		start := len(dst)
		if dst, ok = keys.AppendOrdered(dst, v); !ok {
			return dst, false, false, graph.TypeError("InvalidPropertyType", "a value of type %s cannot be stored as a property", v.Kind())
		}
		if len(dst)-start > keys.MaxOrdered {
			return dst, false, false, graph.RuntimeError("ArgumentError", "PropertyTooLarge", "a property value of %d bytes is too large to be indexed; the limit is %d", len(dst)-start, keys.MaxOrdered)
		}
		loose = loose || v.IsNull() || keys.HasNaN(v)
	}
	return dst, true, loose, nil
}

// EntryKey is the key of a tuple in a unique index.
func EntryKey(ix graph.IndexID, tuple []byte) []byte {
	return append(keys.AppendEntry(nil, ix), tuple...)
}

// Lookup finds the owner of a tuple in a unique index; ok is false without one.
func (v *View) Lookup(ix graph.IndexID, tuple []byte) (o graph.IndexOwner, ok bool, err error) {
	key := EntryKey(ix, tuple)
	var buf [ownerEdge]byte
	b, ok, err := v.Record(key, buf[:])
	if err != nil {
		return o, false, kv.Fault("look up in an index", err)
	}
	if !ok {
		return o, false, nil
	}
	o, err = v.Owner(key, b)
	return o, err == nil, err
}

// Seek calls f with the owners whose tuple equals tuples[k], for each k. Sorted tuples are fastest.
func (v *View) Seek(ctx context.Context, ix graph.IndexID, tuples [][]byte, f func(k int, o graph.IndexOwner)) (err error) {
	r := v.Acquire()
	defer v.Release(r, &err)
	c, err := r.Cursor(keys.Entry)
	if err != nil {
		return kv.Fault("seek in an index", err)
	}
	var key []byte
	for k, t := range tuples {
		if err := r.Alive(ctx); err != nil {
			return err
		}
		key = append(keys.AppendEntry(key[:0], ix), t...)
		for ok := c.Seek(key); ok && bytes.HasPrefix(c.Key(), key); ok = c.Next() {
			// No tuple is a prefix of another, so what follows this one can only be the owner.
			b, err := c.Value()
			if err != nil {
				return kv.Fault("seek in an index", err)
			}
			o, err := v.Owner(c.Key(), b)
			if err != nil {
				return err
			}
			f(k, o)
			if len(c.Key()) == len(key) {
				break // the entry of a unique index
			}
		}
		if err := c.Err(); err != nil {
			return kv.Fault("seek in an index", err)
		}
	}
	return nil
}

// Walk iterates over the entries of an index whose key after the index number is in [lower, upper), in ascending or descending order, and
// calls f with the rest of the key, valid during the call, until f returns false.
func (v *View) Walk(ctx context.Context, ix graph.IndexID, lower, upper []byte, down bool, f func(rest []byte, o graph.IndexOwner) bool) (err error) {
	r := v.Acquire()
	defer v.Release(r, &err)
	c, err := r.Cursor(keys.Entry)
	if err != nil {
		return kv.Fault("walk an index", err)
	}
	index := keys.AppendEntry(nil, ix)
	from, seek, step := append(slices.Clip(index), lower...), c.Seek, c.Next
	if down {
		seek, step = c.SeekLT, c.prev
		if from = append(slices.Clip(index), upper...); upper == nil {
			from = keys.AppendSuccessor(nil, index)
		}
	}
	for ok := seek(from); ok; ok = step() {
		if err := r.Alive(ctx); err != nil {
			return err
		}
		k := c.Key()
		if !bytes.HasPrefix(k, index) {
			return nil
		}
		rest := k[keys.EntrySize:]
		if !down && upper != nil && bytes.Compare(rest, upper) >= 0 || down && bytes.Compare(rest, lower) < 0 {
			return nil
		}
		b, err := c.Value()
		if err != nil {
			return kv.Fault("walk an index", err)
		}
		o, err := v.Owner(k, b)
		if err != nil {
			return err
		}
		if !f(rest, o) {
			return nil
		}
	}
	if err := c.Err(); err != nil {
		return kv.Fault("walk an index", err)
	}
	return nil
}

// RangeBounds returns the bounds of an index's keys, after the index number, whose first value is in an interval: lo and
// hi may be null, if not both, loOpen and hiOpen leave the bound itself out, and prefix asks for the strings that begin
// with lo. empty reports that nothing can lie between them.
func RangeBounds(lo, hi graph.Value, loOpen, hiOpen, prefix bool) (lower, upper []byte, empty bool) {
	switch {
	case lo.IsNull() && hi.IsNull():
		return nil, nil, false
	case prefix:
		if lo.Kind() != graph.String {
			return nil, nil, true
		}
		lower = keys.AppendTextPrefix(nil, lo.Str())
		return lower, keys.AppendSuccessor(nil, lower), false
	case isNaN(lo), isNaN(hi), lo.Kind() == graph.PointKind, hi.Kind() == graph.PointKind,
		lo.Kind() == graph.VectorKind, hi.Kind() == graph.VectorKind:
		// NaN compares with nothing, nor do points and vectors. A list that holds NaN compares by the members before it.
		return nil, nil, true
	case lo.Kind() == graph.Duration, hi.Kind() == graph.Duration:
		return durationBounds(lo, hi, loOpen && !lo.IsNull() || hiOpen && !hi.IsNull())
	}
	some := lo
	if some.IsNull() {
		some = hi
	}
	lower, upper = keys.TypeBounds(some)
	if lower == nil {
		return nil, nil, true
	}
	if !lo.IsNull() {
		k, ok := keys.AppendOrdered(nil, lo)
		if !ok || k[0] != lower[0] {
			return nil, nil, true
		}
		if loOpen {
			k = keys.AppendSuccessor(nil, k)
		}
		lower = k
	}
	if !hi.IsNull() {
		k, ok := keys.AppendOrdered(nil, hi)
		if !ok || k[0] != lower[0] {
			return nil, nil, true
		}
		if !hiOpen {
			k = keys.AppendSuccessor(nil, k)
		}
		upper = k
	}
	return slices.Clip(lower), upper, bytes.Compare(lower, upper) >= 0
}

// durationBounds is RangeBounds of durations. Only equal durations are known to be >= or <= each other: openCypher orders
// them only for ORDER BY.
func durationBounds(lo, hi graph.Value, open bool) (lower, upper []byte, empty bool) {
	if lo.IsNull() {
		lo = hi
	}
	if hi.IsNull() {
		hi = lo
	}
	if open || lo.Kind() != hi.Kind() || lo.Duration() != hi.Duration() {
		return nil, nil, true
	}
	lower, ok := keys.AppendOrdered(nil, lo)
	return slices.Clip(lower), keys.AppendSuccessor(nil, lower), !ok
}

func isNaN(v graph.Value) bool { return v.Kind() == graph.Float && math.IsNaN(v.Float()) }
