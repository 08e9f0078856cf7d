package plan

import (
	"iter"
	"math/bits"
)

// ColSet is a set of columns, as bits: a set of the columns of a large plan costs little at each of its many nodes. Copies share the set.
// Only NewColSet makes one that can grow.
type ColSet struct{ *colBits }

// colBits holds column c, which may be negative, as bit c&63 of words[c>>6-base].
type colBits struct {
	base  int
	words []uint64
}

// NewColSet returns an empty set.
func NewColSet() ColSet { return ColSet{&colBits{}} }

// Add adds columns; it ignores 0.
func (s ColSet) Add(cs ...Col) {
	for _, c := range cs {
		if c != 0 {
			*s.word(int(c >> 6)) |= 1 << (c & 63)
		}
	}
}

// word returns word w, which it adds.
func (s ColSet) word(w int) *uint64 {
	switch b := s.colBits; {
	case len(b.words) == 0:
		b.base, b.words = w, append(b.words, 0)
	case w < b.base:
		b.words = append(make([]uint64, b.base-w, b.base-w+len(b.words)), b.words...)
		b.base = w
	case w >= b.base+len(b.words):
		b.words = append(b.words, make([]uint64, w+1-b.base-len(b.words))...)
	}
	return &s.words[w-s.base]
}

// AddAll adds the columns of another set.
func (s ColSet) AddAll(o ColSet) {
	if o.Words() == 0 {
		return
	}
	s.word(o.base)
	s.word(o.base + len(o.words) - 1)
	for i, w := range o.words {
		s.words[o.base+i-s.base] |= w
	}
}

// Remove removes columns.
func (s ColSet) Remove(cs ...Col) {
	for _, c := range cs {
		if s.Has(c) {
			s.words[int(c>>6)-s.base] &^= 1 << (c & 63)
		}
	}
}

// Has reports whether a column is in the set.
func (s ColSet) Has(c Col) bool {
	if s.colBits == nil {
		return false
	}
	w := int(c>>6) - s.base
	return w >= 0 && w < len(s.words) && s.words[w]&(1<<(c&63)) != 0
}

// Len returns the number of columns.
func (s ColSet) Len() int {
	n := 0
	if s.colBits != nil {
		for _, w := range s.words {
			n += bits.OnesCount64(w)
		}
	}
	return n
}

// Words returns the number of words that the set takes.
func (s ColSet) Words() int {
	if s.colBits == nil {
		return 0
	}
	return len(s.words)
}

// All returns the columns in ascending order. Those that are added or removed meanwhile may be among them.
func (s ColSet) All() iter.Seq[Col] {
	return func(yield func(Col) bool) {
		if s.colBits == nil {
			return
		}
		base := s.base
		for i, w := range s.words {
			for ; w != 0; w &= w - 1 {
				if !yield(Col((base+i)*64 + bits.TrailingZeros64(w))) {
					return
				}
			}
		}
	}
}

// Clone returns a copy, which can grow.
func (s ColSet) Clone() ColSet {
	c := NewColSet()
	c.AddAll(s)
	return c
}

// Sorted returns the columns in ascending order.
func (s ColSet) Sorted() []Col {
	cols := make([]Col, 0, s.Len())
	for c := range s.All() {
		cols = append(cols, c)
	}
	return cols
}

// ReadsAll adds the columns that expressions read.
func (s ColSet) ReadsAll(es []Expr) {
	for _, e := range es {
		s.Reads(e)
	}
}
