package staging

import (
	"math"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// packedChunk says which of the vertices from first to last have a value in the chunks of a property.
type packedChunk struct {
	first, last uint64
	none        bool   // none has: there is no chunk
	nulls       []byte // of their chunk: a bit for each without a value; empty if all have one
}

// hasPacked reports whether a vertex has a value in the chunks of a property. It caches one chunk for each property, since most changes
// come in the order of ids.
func (w *Vertices) hasPacked(p graph.PropID, local uint64) (has bool, err error) {
	c := w.packed[p]
	if c == nil || local < c.first || local > c.last {
		if c == nil {
			c = &packedChunk{}
			if w.packed == nil {
				w.packed = map[graph.PropID]*packedChunk{}
			}
			w.packed[p] = c
		}
		if err := w.readPacked(p, local, c); err != nil {
			delete(w.packed, p)
			return false, kv.Fault("read properties", err)
		}
	}
	i := local - c.first
	return !c.none && (len(c.nulls) == 0 || c.nulls[i/8]>>(i%8)&1 == 0), nil
}

func (w *Vertices) readPacked(p graph.PropID, local uint64, c *packedChunk) (err error) {
	r := w.Acquire()
	defer w.Release(r, &err)
	cur, err := r.Cursor(keys.Column)
	if err != nil {
		return err
	}
	first, last, ok, err := r.ChunkAt(cur, p, local)
	if err != nil {
		return err
	}
	if !ok {
		first = math.MaxUint64
	}
	if c.none = first > local; c.none {
		first, last = local, first-1
	} else {
		c.nulls = append(c.nulls[:0], r.Chunk.Nulls...)
	}
	c.first, c.last = first, last
	return nil
}

// presence of a property in a delta record.
const (
	deltaSilent = iota // the record does not have the property
	deltaNull
	deltaValue
)

// had reports whether a vertex has a property, according to its delta record or else to its chunk.
func (w *Vertices) had(local uint64, p graph.PropID, delta int) (bool, error) {
	if delta != deltaSilent || p == codec.LabelSetProp || p >= codec.HiddenProps {
		return delta == deltaValue, nil
	}
	return w.hasPacked(p, local)
}

// moveProps counts the properties that a vertex has, of those that it may have, under another label set. record is its
// delta record.
func (w *Vertices) moveProps(id graph.VertexID, old, set graph.LabelSet, props []graph.PropID, record []byte) error {
	for _, p := range props {
		cell, err := codec.PropCell(record, p)
		if err != nil {
			return kv.Corrupt("delta properties", w.key, err)
		}
		has, err := w.had(id.Local(), p, deltaOf(cell))
		if err != nil {
			return err
		}
		if has {
			w.CountProp(old, p, -1)
			w.CountProp(set, p, 1)
		}
	}
	return nil
}

// deltaOf returns what a cell of a delta record, nil if there is none, says about its property.
func deltaOf(cell []byte) int {
	switch {
	case len(cell) == 0:
		return deltaSilent
	case cell[0] == byte(graph.Null):
		return deltaNull
	}
	return deltaValue
}
