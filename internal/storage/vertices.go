package storage

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// Column chunks hold one property of up to 512 vertices whose local ids are consecutive: those of a grid cell, or of a
// part of one, where all would be too large or have not come yet. Chunks do not overlap. The label set of a vertex is property 0, an integer; null says that
// there is no such vertex. A chunk's key ends in its last local id, so the first chunk at or after a local id's key is
// the only one that may hold it. A record of delta properties overrides the chunks; it is
//
//	for each property, ascending: property (uvarint), cell; the cell null says that there is none
const (
	gridBits = 9
	GridRows = 1 << gridBits
)

// LabelSetProp is the property number under which label sets are stored.
const LabelSetProp graph.PropID = 0

// Order is the rows of a request that a shard is asked for, in ascending order of their ids; nil means all of them, and
// that they are in that order.
type Order []int32

// Len is the number of rows of a request of n rows.
func (o Order) Len(n int) int {
	if o == nil {
		return n
	}
	return len(o)
}

// At is the i-th row.
func (o Order) At(i int) int {
	if o == nil {
		return i
	}
	return int(o[i])
}

// Properties fills out[p][i], which must be null before, with property props[p] of the vertex ids[i], for the rows i of
// at. It leaves large values null and appends them to pending.
func (v *View) Properties(ctx context.Context, ids []graph.VertexID, at Order, props []graph.PropID, out [][]graph.Value, pending *[]Pending) (err error) {
	r := v.get()
	defer v.put(r, &err)
	for p, prop := range props {
		if err := r.columnValues(ctx, ids, at, p, prop, out[p], pending); err != nil {
			return kv.Fault("read properties", err)
		}
	}
	err = r.deltaProps(ctx, ids, at, func(i int, body []byte) error {
		return codec.EachProp(body, func(q graph.PropID, cell []byte) error {
			for p, prop := range props {
				if prop != q {
					continue
				}
				val, ref, isRef, err := codec.ReadCell(cell, &r.arena)
				if err != nil {
					return err
				}
				out[p][i] = val
				dropPending(pending, p, i)
				if isRef {
					*pending = append(*pending, Pending{p, i, ref})
				}
			}
			return nil
		})
	})
	if err != nil {
		return kv.Fault("read properties", err)
	}
	return nil
}

// dropPending takes back a large value that a delta record overrides.
func dropPending(pending *[]Pending, p, i int) {
	for j := range slices.Backward(*pending) {
		if (*pending)[j].P == p && (*pending)[j].I == i {
			*pending = slices.Delete(*pending, j, j+1)
			return
		}
	}
}

// chunkAt moves the column cursor to the chunk that may hold a local id and opens it in r.col. It holds [first, last];
// ok is false if no chunk of the property is at or after the id.
func (r *reader) chunkAt(c *cursor, p graph.PropID, local uint64) (first, last uint64, ok bool, err error) {
	r.key = keys.AppendChunk(r.key[:0], p, local)
	if !c.seek(r.key) {
		return 0, 0, false, c.err()
	}
	k := c.key()
	q, last := keys.Chunk(k)
	if q != p {
		return 0, 0, false, nil
	}
	b, err := c.value()
	if err != nil {
		return 0, 0, false, err
	}
	if err := r.col.Parse(b); err != nil {
		return 0, 0, false, kv.Corrupt("column chunk", k, err)
	}
	if r.col.N == 0 || uint64(r.col.N) > last+1 {
		return 0, 0, false, kv.Corrupt("column chunk", k, codec.ErrColumn)
	}
	return last + 1 - uint64(r.col.N), last, true, nil
}

func (r *reader) columnValues(ctx context.Context, ids []graph.VertexID, at Order, p int, prop graph.PropID, out []graph.Value, pending *[]Pending) error {
	c, err := r.cursor(keys.Column)
	if err != nil {
		return err
	}
	first, last, open := uint64(1), uint64(0), false
	for j := range at.Len(len(ids)) {
		i := at.At(j)
		local := ids[i].Local()
		if !open || local > last {
			if err := r.alive(ctx); err != nil {
				return err
			}
			if first, last, open, err = r.chunkAt(c, prop, local); err != nil {
				return err
			}
			if !open {
				return nil
			}
		}
		if local < first {
			continue
		}
		val, ref, isRef, err := r.col.Value(int(local-first), &r.arena)
		if err != nil {
			return kv.Corrupt("column chunk", c.key(), err)
		}
		out[i] = val
		if isRef {
			*pending = append(*pending, Pending{p, i, ref})
		}
	}
	return nil
}

// deltaProps calls f with the body of the delta record of each row that has one.
func (r *reader) deltaProps(ctx context.Context, ids []graph.VertexID, at Order, f func(i int, body []byte) error) error {
	c, err := r.cursor(keys.DeltaProp)
	if err != nil {
		return err
	}
	next, known := uint64(0), false // where the cursor stands
	for j := range at.Len(len(ids)) {
		i := at.At(j)
		local := ids[i].Local()
		if !known || local > next {
			if err := r.alive(ctx); err != nil {
				return err
			}
			r.key = keys.AppendDeltaProps(r.key[:0], local)
			if !c.seek(r.key) {
				return c.err()
			}
			if len(c.key()) != keys.DeltaVSize {
				return kv.Corrupt("delta properties", c.key(), codec.ErrDelta)
			}
			next, known = keys.Local(c.key()[1:]), true
		}
		if local != next {
			continue
		}
		b, err := c.value()
		if err != nil {
			return err
		}
		if err := f(i, b); err != nil {
			return kv.Corrupt("delta properties", c.key(), err)
		}
	}
	return nil
}

// LabelSets fills out[i] with the label set of ids[i] for the rows of at; 0 says that there is no such vertex.
func (v *View) LabelSets(ctx context.Context, ids []graph.VertexID, at Order, out []graph.LabelSet) (err error) {
	r := v.get()
	defer v.put(r, &err)
	if err := r.labelSets(ctx, ids, at, out); err != nil {
		return kv.Fault("read label sets", err)
	}
	return nil
}

func (r *reader) labelSets(ctx context.Context, ids []graph.VertexID, at Order, out []graph.LabelSet) error {
	c, err := r.cursor(keys.Column)
	if err != nil {
		return err
	}
	first, last, open, ended := uint64(1), uint64(0), false, false
	for j := range at.Len(len(ids)) {
		i := at.At(j)
		out[i] = 0
		local := ids[i].Local()
		if !ended && (!open || local > last) {
			if err := r.alive(ctx); err != nil {
				return err
			}
			if first, last, open, err = r.chunkAt(c, LabelSetProp, local); err != nil {
				return err
			}
			if open && (r.col.Enc != codec.EncInts || r.col.Kind != graph.Int) {
				return kv.Corrupt("label sets", c.key(), codec.ErrColumn)
			}
			ended = !open
		}
		if at := int(local - first); !ended && local >= first && !r.col.Null(at) {
			out[i] = graph.LabelSet(r.col.Least + int64(codec.Fixed(r.col.Body, at, r.col.Width)))
		}
	}
	return r.deltaProps(ctx, ids, at, func(i int, body []byte) error {
		cell, err := codec.PropCell(body, LabelSetProp)
		if err != nil || cell == nil {
			return err
		}
		val, _, _, _, err := keys.Cell(cell)
		out[i] = 0
		if val.Kind() == graph.Int {
			out[i] = graph.LabelSet(val.Int())
		}
		return err
	})
}
