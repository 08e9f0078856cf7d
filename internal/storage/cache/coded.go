package cache

import (
	"hash/maphash"
	"math"

	"github.com/hopgate/hopgate/internal/graph"
)

// Dictionary numbers byte strings in the order of their first use. It is a hash table with open addressing.
type Dictionary struct {
	slots   []uint32 // number+1; the length is a power of two
	hashes  []uint64 // by number
	offsets []uint32 // one more than numbers
	bytes   []byte
}

var textSeed = maphash.MakeSeed()

// Reset removes all strings and makes room for n.
func (d *Dictionary) Reset(n int) {
	size := 64
	for size < 2*n {
		size *= 2
	}
	d.slots = append(d.slots[:0], make([]uint32, size)...)
	d.hashes, d.offsets, d.bytes = d.hashes[:0], append(d.offsets[:0], 0), d.bytes[:0]
}

// Len is the number of strings.
func (d *Dictionary) Len() int { return len(d.hashes) }

// Size is the number of bytes of all strings.
func (d *Dictionary) Size() int { return len(d.bytes) }

// At returns a string by its number. It is valid until Reset.
func (d *Dictionary) At(n uint32) []byte { return d.bytes[d.offsets[n]:d.offsets[n+1]] }

// Number returns the number of a string.
func (d *Dictionary) Number(b []byte) uint32 {
	h := maphash.Bytes(textSeed, b)
	at, found := d.find(h, b)
	if found {
		return d.slots[at] - 1
	}
	n := uint32(len(d.hashes))
	d.hashes, d.bytes = append(d.hashes, h), append(d.bytes, b...)
	d.offsets = append(d.offsets, uint32(len(d.bytes)))
	if d.slots[at] = n + 1; 2*len(d.hashes) > len(d.slots) {
		d.slots = make([]uint32, 2*len(d.slots))
		mask := uint64(len(d.slots) - 1)
		for n, h := range d.hashes {
			at := h & mask
			for d.slots[at] != 0 {
				at = (at + 1) & mask
			}
			d.slots[at] = uint32(n + 1)
		}
	}
	return n
}

// find returns the slot of a string, or the slot where it belongs.
func (d *Dictionary) find(h uint64, b []byte) (at uint64, found bool) {
	mask := uint64(len(d.slots) - 1)
	for at = h & mask; d.slots[at] != 0; at = (at + 1) & mask {
		if n := d.slots[at] - 1; d.hashes[n] == h && string(d.At(n)) == string(b) {
			return at, true
		}
	}
	return at, false
}

// textCoder gives the texts of a column codes, in the order of their first cells.
type textCoder struct {
	Dictionary
	codes []uint16 // by cell
}

// encode gives the cells of b codes if at most half of them are distinct, and reports whether it has. Nulls have the code after
// those of texts.
func (t *textCoder) encode(b *ColumnBuilder) bool {
	most := min(b.count/2, math.MaxUint16)
	t.Reset(most + 1)
	t.codes = t.codes[:0]
	for i := range b.n {
		if b.present[i>>6]>>(i&63)&1 == 0 {
			t.codes = append(t.codes, math.MaxUint16)
			continue
		}
		code := t.Number(b.bytes[b.offsets[i]:b.offsets[i+1]])
		if int(code) >= most {
			return false
		}
		t.codes = append(t.codes, uint16(code))
	}
	if b.count < b.n {
		null := uint16(t.Len())
		for i := range b.n {
			if b.present[i>>6]>>(i&63)&1 == 0 {
				t.codes[i] = null
			}
		}
	}
	return true
}

// Cells holds some values of one property as a cache keeps them. Its memory is the cache's.
type Cells struct {
	// Codes are the places of the values in Dict, which has each of them once. Dict may have values that Codes does not use.
	Codes []uint16
	Dict  []graph.Value
	// Narrow and Wide hold Ints: Base plus a cell of Narrow, or a cell of Wide.
	Base   int64
	Narrow []uint32
	Wide   []uint64
	// Present is the bitmap of the Ints that are not null, from bit From on; nil: all.
	Present []uint64
	From    uint32
	// Most bounds the magnitude of the Ints.
	Most uint64
	// Vals are the values, if neither Codes, Narrow nor Wide is set.
	Vals []graph.Value
}

// Ints reports whether all values that are not null are Ints, which Int returns.
func (c *Cells) Ints() bool { return c.Narrow != nil || c.Wide != nil }

// Int returns the Int at place i. It is arbitrary if the value is null.
func (c *Cells) Int(i uint32) int64 {
	if c.Narrow != nil {
		return c.Base + int64(c.Narrow[i])
	}
	return int64(c.Wide[i])
}

// Has reports whether the Int at place i is not null.
func (c *Cells) Has(i uint32) bool {
	i += c.From
	return c.Present == nil || c.Present[i>>6]>>(i&63)&1 != 0
}

// Value returns the value at place i.
func (c *Cells) Value(i uint32) graph.Value {
	switch {
	case c.Codes != nil:
		return c.Dict[c.Codes[i]]
	case !c.Ints():
		return c.Vals[i]
	case c.Has(i):
		return graph.IntValue(c.Int(i))
	}
	return graph.Value{}
}

// Cells sets v to the cells lo … hi-1. Its slices Dict and Vals are reused.
func (c *Column) Cells(v *Cells, lo, hi uint32, decode Decode) (err error) {
	*v = Cells{Dict: v.Dict[:0], Vals: v.Vals[:0]}
	switch {
	case c.form == formCoded:
		v.Codes = c.codes[lo:hi]
		for i := range len(c.offsets) - 1 {
			v.Dict = append(v.Dict, c.word(uint32(i)))
		}
		v.Dict = append(v.Dict, graph.Value{})
		return nil
	case c.kind == graph.Int && (c.form == formNarrow || c.form == formWide):
		v.Most = max(magnitude(int64(c.lo)), magnitude(int64(c.hi)))
		v.Present, v.From = c.present, lo
		if c.form == formNarrow {
			v.Base, v.Narrow = int64(c.base), c.narrow[lo:hi]
		} else {
			v.Wide = c.wide[lo:hi]
		}
		return nil
	}
	v.Vals, err = c.AppendTo(v.Vals, lo, hi, decode)
	return err
}
