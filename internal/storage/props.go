package storage

import (
	"math"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// HiddenProps is the number from which on properties are not the user's: keys in id spaces and times of writing. They
// are not counted.
const HiddenProps graph.PropID = 1 << 31

// countProp counts vertices of a label set that have got a property, or, if n is negative, lost it.
func (w *Writer) countProp(set graph.LabelSet, p graph.PropID, n int) {
	if n != 0 && p != LabelSetProp && p < HiddenProps {
		w.Count(Count{Kind: CountProp, Set: set, Prop: p}, int64(n))
	}
}

// countEdgeProp is countProp for edges of a type, at their sources.
func (w *Writer) countEdgeProp(t graph.TypeID, p graph.PropID, n int) {
	if n != 0 && p < HiddenProps {
		w.Count(Count{Kind: CountEdgeProp, Type: t, Prop: p}, int64(n))
	}
}

// packedChunk tells which vertices, of those from first to last, have a value in the chunks of a property.
type packedChunk struct {
	first, last uint64
	none        bool   // none has: there is no chunk
	nulls       []byte // of the chunk that holds just them: a bit for each that has none; empty if all have
}

// hasPacked reports whether a vertex has a value in the chunks of a property. The writer remembers one chunk a property,
// as changes mostly come in the order of ids.
func (w *Writer) hasPacked(p graph.PropID, local uint64) (has bool, err error) {
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

func (w *Writer) readPacked(p graph.PropID, local uint64, c *packedChunk) (err error) {
	r := w.get()
	defer w.put(r, &err)
	cur, err := r.cursor(keys.Column)
	if err != nil {
		return err
	}
	first, last, ok, err := r.chunkAt(cur, p, local)
	if err != nil {
		return err
	}
	if !ok {
		first = math.MaxUint64
	}
	if c.none = first > local; c.none {
		first, last = local, first-1
	} else {
		c.nulls = append(c.nulls[:0], r.col.Nulls...)
	}
	c.first, c.last = first, last
	return nil
}

// presence of a property in a delta record.
const (
	deltaSilent = iota // the record does not name the property
	deltaNull
	deltaValue
)

// had reports whether a vertex has a property, as its delta record says, or, if that is silent, its chunk.
func (w *Writer) had(local uint64, p graph.PropID, delta int) (bool, error) {
	if delta != deltaSilent || p == LabelSetProp || p >= HiddenProps {
		return delta == deltaValue, nil
	}
	return w.hasPacked(p, local)
}

// moveProps counts the properties that a vertex has, of those that it may have, under another label set. record is its
// delta record.
func (w *Writer) moveProps(id graph.VertexID, old, set graph.LabelSet, props []graph.PropID, record []byte) error {
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
			w.countProp(old, p, -1)
			w.countProp(set, p, 1)
		}
	}
	return nil
}

// deltaOf is what a cell of a delta record, nil if there is none, says of its property.
func deltaOf(cell []byte) int {
	switch {
	case len(cell) == 0:
		return deltaSilent
	case cell[0] == byte(graph.Null):
		return deltaNull
	}
	return deltaValue
}
