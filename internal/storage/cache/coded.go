package cache

import (
	"hash/maphash"
	"math"

	"github.com/hopgate/hopgate/internal/graph"
)

// textCoder gives the texts of a column codes, in the order of their first cells. It is a hash table with open addressing.
type textCoder struct {
	slots   []uint32 // code+1; the length is a power of two
	hashes  []uint64 // by code
	codes   []uint16 // by cell
	offsets []uint32 // one more than codes
	bytes   []byte
}

var textSeed = maphash.MakeSeed()

// encode gives the cells of b codes if at most half of them are distinct, and reports whether it has. Nulls have the code after
// those of texts.
func (t *textCoder) encode(b *ColumnBuilder) bool {
	most := min(b.count/2, math.MaxUint16)
	size := 64
	for size < 2*most {
		size *= 2
	}
	t.slots = append(t.slots[:0], make([]uint32, size)...)
	t.hashes, t.codes, t.offsets, t.bytes = t.hashes[:0], t.codes[:0], append(t.offsets[:0], 0), t.bytes[:0]
	for i := range b.n {
		if b.present[i>>6]>>(i&63)&1 == 0 {
			t.codes = append(t.codes, math.MaxUint16)
			continue
		}
		text := b.bytes[b.offsets[i]:b.offsets[i+1]]
		code, ok := t.code(text, most)
		if !ok {
			return false
		}
		t.codes = append(t.codes, code)
	}
	if b.count < b.n {
		null := uint16(len(t.hashes))
		for i := range b.n {
			if b.present[i>>6]>>(i&63)&1 == 0 {
				t.codes[i] = null
			}
		}
	}
	return true
}

// code returns the code of a text; ok is false if it would be the one after most.
func (t *textCoder) code(text []byte, most int) (code uint16, ok bool) {
	h := maphash.Bytes(textSeed, text)
	mask := uint64(len(t.slots) - 1)
	at := h & mask
	for ; t.slots[at] != 0; at = (at + 1) & mask {
		c := t.slots[at] - 1
		if t.hashes[c] == h && string(t.bytes[t.offsets[c]:t.offsets[c+1]]) == string(text) {
			return uint16(c), true
		}
	}
	n := len(t.hashes)
	if n == most {
		return 0, false
	}
	t.slots[at] = uint32(n + 1)
	t.hashes = append(t.hashes, h)
	t.bytes = append(t.bytes, text...)
	t.offsets = append(t.offsets, uint32(len(t.bytes)))
	return uint16(n), true
}

// Cells sets v to the cells lo … hi-1. Its slices Dict and Vals are reused.
func (c *Column) Cells(v *graph.Cells, lo, hi uint32, decode Decode) (err error) {
	*v = graph.Cells{Dict: v.Dict[:0], Vals: v.Vals[:0]}
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
