package storage

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// HiddenProps is the number from which on properties are not the user's: keys in id spaces and times of writing. They
// are not counted.
const HiddenProps graph.PropID = 1 << 31

// countProp counts vertices of a label set that have got a property, or, if n is negative, lost it.
func (w *Writer) countProp(set graph.LabelSet, p graph.PropID, n int) {
	if n != 0 && p != labelSetProp && p < HiddenProps {
		w.delta[Count{Kind: CountProp, Set: set, Prop: p}] += int64(n)
	}
}

// countEdgeProp is countProp for edges of a type, at their sources.
func (w *Writer) countEdgeProp(t graph.TypeID, p graph.PropID, n int) {
	if n != 0 && p < HiddenProps {
		w.delta[Count{Kind: CountEdgeProp, Type: t, Prop: p}] += int64(n)
	}
}

// packedCell tells which vertices of a grid cell have a value in the chunks of a property.
type packedCell struct {
	base uint64
	has  [gridRows / 64]uint64
}

// hasPacked reports whether a vertex has a value in the chunks of a property. The writer remembers one cell a property,
// as changes mostly come in the order of ids.
func (w *Writer) hasPacked(p graph.PropID, local uint64) (has bool, err error) {
	base := local &^ (gridRows - 1)
	c := w.packed[p]
	if c == nil || c.base != base {
		if c == nil {
			c = &packedCell{}
			if w.packed == nil {
				w.packed = map[graph.PropID]*packedCell{}
			}
			w.packed[p] = c
		}
		*c = packedCell{base: base}
		if err := w.readPacked(p, c); err != nil {
			delete(w.packed, p)
			return false, fault("read properties", err)
		}
	}
	i := local - base
	return c.has[i/64]>>(i%64)&1 != 0, nil
}

func (w *Writer) readPacked(p graph.PropID, c *packedCell) (err error) {
	r := w.get()
	defer w.put(r, &err)
	cur, err := r.cursor(keys.Column)
	if err != nil {
		return err
	}
	for at, end := c.base, c.base+gridRows; at < end; {
		first, last, ok, err := r.chunkAt(cur, p, at)
		if err != nil || !ok || first >= end {
			return err
		}
		if first < at || last >= end {
			return corrupt("column chunk", cur.key(), errColumn)
		}
		for i := range r.col.n {
			if !r.col.null(i) {
				row := first + uint64(i) - c.base
				c.has[row/64] |= 1 << (row % 64)
			}
		}
		at = last + 1
	}
	return nil
}

// presence of a property in a fresh record.
const (
	freshSilent = iota // the record does not name the property
	freshNull
	freshValue
)

// had reports whether a vertex has a property, as its fresh record says, or, if that is silent, its chunk.
func (w *Writer) had(local uint64, p graph.PropID, fresh int) (bool, error) {
	if fresh != freshSilent || p == labelSetProp || p >= HiddenProps {
		return fresh == freshValue, nil
	}
	return w.hasPacked(p, local)
}

// moveProps counts the properties that a vertex has, of those that it may have, under another label set. record is its
// fresh record.
func (w *Writer) moveProps(id graph.VertexID, old, set graph.LabelSet, props []graph.PropID, record []byte) error {
	for _, p := range props {
		cell, err := propCell(record, p)
		if err != nil {
			return corrupt("fresh properties", w.key, err)
		}
		has, err := w.had(id.Local(), p, freshOf(cell))
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

// freshOf is what a cell of a fresh record, nil if there is none, says of its property.
func freshOf(cell []byte) int {
	switch {
	case len(cell) == 0:
		return freshSilent
	case cell[0] == byte(graph.Null):
		return freshNull
	}
	return freshValue
}
