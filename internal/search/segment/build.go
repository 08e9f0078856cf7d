package segment

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// Builder makes a segment in memory. Its documents come in ascending order of their IDs.
type Builder struct {
	ids    keyWriter
	sums   []byte
	fields []*FieldBuilder
}

// FieldBuilder collects the terms of a field.
type FieldBuilder struct {
	name    string
	doc     uint32
	lengths []uint32
	slots   []uint32 // a hash table: numbers of terms, plus one
	ends    []uint32 // by term: where it ends in text
	hashes  []uint32
	text    []byte
	found   []occurrence
}

// occurrence is a term in a text of a document.
type occurrence struct {
	term uint32
	spot
}

// spot is an occurrence of a term.
type spot struct{ doc, text, pos uint32 }

// Add begins a document.
func (b *Builder) Add(id []byte, sum uint32) {
	b.ids.begin(id, nil)
	b.sums = binary.LittleEndian.AppendUint32(b.sums, sum)
}

// Field returns what collects a field of the last document.
func (b *Builder) Field(name string) *FieldBuilder {
	i := slices.IndexFunc(b.fields, func(f *FieldBuilder) bool { return f.name == name })
	if i < 0 {
		i = len(b.fields)
		b.fields = append(b.fields, &FieldBuilder{name: name, slots: make([]uint32, 256)})
	}
	f := b.fields[i]
	f.doc = uint32(b.ids.n - 1)
	for len(f.lengths) < b.ids.n {
		f.lengths = append(f.lengths, 0)
	}
	return f
}

// Length is how many terms the field of the last document has.
func (f *FieldBuilder) Length() int { return int(f.lengths[f.doc]) }

// Add adds an occurrence of a term, at a position of one of the field's texts. Texts come in order.
func (f *FieldBuilder) Add(term []byte, text, pos int) {
	f.lengths[f.doc]++
	f.found = append(f.found, occurrence{f.number(term), spot{f.doc, uint32(text), uint32(pos)}})
}

// number finds or adds a term.
func (f *FieldBuilder) number(term []byte) uint32 {
	h := uint32(xxhash.Sum64(term))
	mask := uint32(len(f.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		n := f.slots[i]
		if n == 0 {
			return f.newTerm(term, h, i)
		}
		if f.hashes[n-1] == h && bytes.Equal(f.termText(n-1), term) {
			return n - 1
		}
	}
}

func (f *FieldBuilder) newTerm(term []byte, h, slot uint32) uint32 {
	f.text = append(f.text, term...)
	f.ends = append(f.ends, uint32(len(f.text)))
	f.hashes = append(f.hashes, h)
	n := uint32(len(f.ends))
	f.slots[slot] = n
	if 2*len(f.ends) > len(f.slots) {
		f.slots = make([]uint32, 2*len(f.slots))
		mask := uint32(len(f.slots) - 1)
		for k, h := range f.hashes {
			i := h & mask
			for f.slots[i] != 0 {
				i = (i + 1) & mask
			}
			f.slots[i] = uint32(k + 1)
		}
	}
	return n - 1
}

func (f *FieldBuilder) termText(n uint32) []byte {
	from := uint32(0)
	if n > 0 {
		from = f.ends[n-1]
	}
	return f.text[from:f.ends[n]]
}

// Finish returns the bytes of the segment.
func (b *Builder) Finish() []byte {
	var out bytes.Buffer
	w := &writer{}
	w.w = &out
	w.begin(&b.ids, b.sums)
	slices.SortFunc(b.fields, func(a, b *FieldBuilder) int { return cmp.Compare(a.name, b.name) })
	for _, f := range b.fields {
		for len(f.lengths) < b.ids.n {
			f.lengths = append(f.lengths, 0)
		}
		w.beginField(f.name, f.lengths)
		f.write(w)
		w.endField()
	}
	_ = w.end() // a buffer takes everything
	return out.Bytes()
}

// write writes the terms in order.
func (f *FieldBuilder) write(w *writer) {
	starts := make([]uint32, len(f.ends)+1) // by term: where its occurrences begin in order
	for i := range f.found {
		starts[f.found[i].term+1]++
	}
	for i := 1; i < len(starts); i++ {
		starts[i] += starts[i-1]
	}
	order := make([]spot, len(f.found))
	next := slices.Clone(starts)
	for _, o := range f.found {
		order[next[o.term]] = o.spot
		next[o.term]++
	}
	type ranked struct {
		head uint64 // the first eight bytes
		n    uint32
	}
	terms := make([]ranked, len(f.ends))
	for i := range terms {
		var head [8]byte
		copy(head[:], f.termText(uint32(i)))
		terms[i] = ranked{binary.BigEndian.Uint64(head[:]), uint32(i)}
	}
	slices.SortFunc(terms, func(a, b ranked) int {
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		return bytes.Compare(f.termText(a.n), f.termText(b.n))
	})
	var positions []byte
	for _, t := range terms {
		of := order[starts[t.n]:starts[t.n+1]]
		for len(of) > 0 {
			n := 1
			for n < len(of) && of[n].doc == of[0].doc {
				n++
			}
			positions = appendPositions(positions[:0], of[:n])
			w.term.add(of[0].doc, uint32(n), positions)
			of = of[n:]
		}
		w.term.end(f.termText(t.n))
	}
}

// appendPositions writes the positions of a term in a document.
func appendPositions(to []byte, at []spot) []byte {
	byPlace := func(a, b spot) int { return cmp.Or(cmp.Compare(a.text, b.text), cmp.Compare(a.pos, b.pos)) }
	if len(at) > 1 && !slices.IsSortedFunc(at, byPlace) {
		slices.SortFunc(at, byPlace)
	}
	text, pos := uint32(0), uint32(0)
	for _, o := range at {
		if o.text != text {
			to = binary.AppendUvarint(to, uint64(o.text-text)<<1|1)
			text, pos = o.text, 0
		}
		to = binary.AppendUvarint(to, uint64(o.pos-pos)<<1)
		pos = o.pos
	}
	return to
}
