package view

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// Order is the rows of a request that belong to one shard, in ascending order of their ids; nil means all rows, which are in that order.
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
	r := v.Acquire()
	defer v.Release(r, &err)
	for p, prop := range props {
		if err := r.columnValues(ctx, ids, at, p, prop, out[p], pending); err != nil {
			return kv.Fault("read properties", err)
		}
	}
	err = r.DeltaProps(ctx, ids, at, func(i int, body []byte) error {
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

// dropPending removes a large value that a delta record overrides.
func dropPending(pending *[]Pending, p, i int) {
	for j := range slices.Backward(*pending) {
		if (*pending)[j].P == p && (*pending)[j].I == i {
			*pending = slices.Delete(*pending, j, j+1)
			return
		}
	}
}

// ChunkAt moves the column cursor to the chunk that may hold a local id and opens it in r.Chunk. It holds [first, last];
// ok is false if no chunk of the property is at or after the id.
func (r *Reader) ChunkAt(c *Cursor, p graph.PropID, local uint64) (first, last uint64, ok bool, err error) {
	r.key = keys.AppendChunk(r.key[:0], p, local)
	if !c.Seek(r.key) {
		return 0, 0, false, c.Err()
	}
	k := c.Key()
	q, last := keys.Chunk(k)
	if q != p {
		return 0, 0, false, nil
	}
	b, err := c.Value()
	if err != nil {
		return 0, 0, false, err
	}
	if err := r.Chunk.Parse(b); err != nil {
		return 0, 0, false, kv.Corrupt("column chunk", k, err)
	}
	if r.Chunk.N == 0 || uint64(r.Chunk.N) > last+1 {
		return 0, 0, false, kv.Corrupt("column chunk", k, codec.ErrColumn)
	}
	return last + 1 - uint64(r.Chunk.N), last, true, nil
}

func (r *Reader) columnValues(ctx context.Context, ids []graph.VertexID, at Order, p int, prop graph.PropID, out []graph.Value, pending *[]Pending) error {
	c, err := r.Cursor(keys.Column)
	if err != nil {
		return err
	}
	first, last, open := uint64(1), uint64(0), false
	for j := range at.Len(len(ids)) {
		i := at.At(j)
		local := ids[i].Local()
		if !open || local > last {
			if err := r.Alive(ctx); err != nil {
				return err
			}
			if first, last, open, err = r.ChunkAt(c, prop, local); err != nil {
				return err
			}
			if !open {
				return nil
			}
		}
		if local < first {
			continue
		}
		val, ref, isRef, err := r.Chunk.Value(int(local-first), &r.arena)
		if err != nil {
			return kv.Corrupt("column chunk", c.Key(), err)
		}
		out[i] = val
		if isRef {
			*pending = append(*pending, Pending{p, i, ref})
		}
	}
	return nil
}

// DeltaProps calls f with the body of the delta record of each row that has one.
func (r *Reader) DeltaProps(ctx context.Context, ids []graph.VertexID, at Order, f func(i int, body []byte) error) error {
	c, err := r.Cursor(keys.DeltaProp)
	if err != nil {
		return err
	}
	next, known := uint64(0), false // the vertex at the cursor
	for j := range at.Len(len(ids)) {
		i := at.At(j)
		local := ids[i].Local()
		if !known || local > next {
			if err := r.Alive(ctx); err != nil {
				return err
			}
			r.key = keys.AppendDeltaProps(r.key[:0], local)
			if !c.Seek(r.key) {
				return c.Err()
			}
			if len(c.Key()) != keys.DeltaVSize {
				return kv.Corrupt("delta properties", c.Key(), codec.ErrDelta)
			}
			next, known = keys.Local(c.Key()[1:]), true
		}
		if local != next {
			continue
		}
		b, err := c.Value()
		if err != nil {
			return err
		}
		if err := f(i, b); err != nil {
			return kv.Corrupt("delta properties", c.Key(), err)
		}
	}
	return nil
}

// LabelSets fills out[i] with the label set of ids[i] for the rows of at; 0 says that there is no such vertex.
func (v *View) LabelSets(ctx context.Context, ids []graph.VertexID, at Order, out []graph.LabelSet) (err error) {
	r := v.Acquire()
	defer v.Release(r, &err)
	if err := r.labelSets(ctx, ids, at, out); err != nil {
		return kv.Fault("read label sets", err)
	}
	return nil
}

func (r *Reader) labelSets(ctx context.Context, ids []graph.VertexID, at Order, out []graph.LabelSet) error {
	c, err := r.Cursor(keys.Column)
	if err != nil {
		return err
	}
	first, last, open, ended := uint64(1), uint64(0), false, false
	for j := range at.Len(len(ids)) {
		i := at.At(j)
		out[i] = 0
		local := ids[i].Local()
		if !ended && (!open || local > last) {
			if err := r.Alive(ctx); err != nil {
				return err
			}
			if first, last, open, err = r.ChunkAt(c, codec.LabelSetProp, local); err != nil {
				return err
			}
			if open && (r.Chunk.Enc != codec.EncInts || r.Chunk.Kind != graph.Int) {
				return kv.Corrupt("label sets", c.Key(), codec.ErrColumn)
			}
			ended = !open
		}
		if at := int(local - first); !ended && local >= first && !r.Chunk.Null(at) {
			out[i] = graph.LabelSet(r.Chunk.Least + int64(codec.Fixed(r.Chunk.Body, at, r.Chunk.Width)))
		}
	}
	return r.DeltaProps(ctx, ids, at, func(i int, body []byte) error {
		cell, err := codec.PropCell(body, codec.LabelSetProp)
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
