package search

import (
	"math/bits"
	"slices"

	"github.com/hopgate/hopgate/internal/search/segment"
)

// phrases matches the documents in which the terms of a phrase stand near enough. Each term may stand as far from its place as the others'
// shifts are less than the slop, as in Lucene's SloppyPhraseMatcher: the greatest shift of a term minus the least.
type phrases struct {
	of     *phrase
	terms  []*term             // without repeats
	places []*segment.Postings // of the terms, for positions: the others may have passed them
	first  []int               // by term of the phrase: its number among terms
	tmp    *window
	at     [][]segment.Position // by term: in a document
	rest   [][]segment.Position // of it, after a text
	text   [][]segment.Position // in that text
	shifts [][]int              // by term of the phrase: its positions, less its place in the phrase, ascending
	used   []use
}

// use is a place that a term has taken.
type use struct{ term, pos int }

func (b *builder) phrase(o *phrase) (matcher, error) {
	m := &phrases{of: o, shifts: make([][]int, len(o.terms))}
	for i := range o.terms {
		if k := slices.IndexFunc(o.terms, func(s scored) bool { return string(s.term) == string(o.terms[i].term) }); k < i {
			m.first = append(m.first, m.first[k])
			continue
		}
		m.first = append(m.first, len(m.terms))
		t, err := b.newTerm(&o.terms[i])
		if err != nil || t == nil {
			return none{}, err
		}
		p, err := b.postings(t.field, o.terms[i].term)
		if err != nil {
			return nil, err
		}
		m.terms, m.places = append(m.terms, t), append(m.places, p)
	}
	m.at, m.text = make([][]segment.Position, len(m.terms)), make([][]segment.Position, len(m.terms))
	m.tmp = b.window()
	return m, nil
}

func (m *phrases) next(from uint32) uint32 { return nextOfAll(m.terms, from) }

// fill finds the documents with all terms first, and then reads the positions of those whose score is high enough.
func (m *phrases) fill(base uint32, w *window, floor float64) {
	fillAll(m.terms, base, w, m.tmp, noFloor)
	for i, word := range w.set {
		for ; word != 0; word &= word - 1 {
			bit := bits.TrailingZeros64(word)
			if w.scores[64*i+bit] <= floor || !m.read(base+uint32(64*i+bit)) || !m.matches() {
				w.set[i] &^= 1 << bit
			}
		}
	}
}

// read reads the positions of all terms in a document that has them; false if the segment is corrupt.
func (m *phrases) read(doc uint32) bool {
	for k, p := range m.places {
		if !p.Seek(doc, nil) {
			return false
		}
		i, _ := slices.BinarySearch(p.Docs(), doc)
		m.at[k] = p.Positions(i, m.at[k][:0])
	}
	return true
}

// matches reports whether the terms stand near enough in one of the texts.
func (m *phrases) matches() bool {
	m.rest = append(m.rest[:0], m.at...)
	for {
		text := 0
		for _, at := range m.rest {
			if len(at) == 0 {
				return false
			}
			text = max(text, at[0].Text)
		}
		all := true // occur in the text
		for k, at := range m.rest {
			n := 0
			for n < len(at) && at[n].Text < text {
				n++
			}
			m.rest[k] = at[n:]
			all = all && n < len(at) && at[n].Text == text
		}
		if !all {
			continue
		}
		for k, at := range m.rest {
			n := 1
			for n < len(at) && at[n].Text == text {
				n++
			}
			m.text[k], m.rest[k] = at[:n], at[n:]
		}
		if m.near() {
			return true
		}
	}
}

// near looks for a place in one text.
func (m *phrases) near() bool {
	for i, k := range m.first {
		m.shifts[i] = m.shifts[i][:0]
		for _, at := range m.text[k] {
			m.shifts[i] = append(m.shifts[i], at.Pos-m.of.at[i])
		}
	}
	// The least shift is that of one of the terms.
	for i := range m.shifts {
		if slices.ContainsFunc(m.shifts[i], m.fits) {
			return true
		}
	}
	return false
}

// fits reports whether all terms have shifts from least to least plus slop, at places of their own. A term that repeats takes the first
// place that is free, which leaves as much as any other choice to those that follow, because their intervals end later.
func (m *phrases) fits(least int) bool {
	m.used = m.used[:0]
	for i, shifts := range m.shifts {
		k, _ := slices.BinarySearch(shifts, least)
		for k < len(shifts) && slices.Contains(m.used, use{m.first[i], shifts[k] + m.of.at[i]}) {
			k++
		}
		if k == len(shifts) || shifts[k] > least+m.of.slop {
			return false
		}
		m.used = append(m.used, use{m.first[i], shifts[k] + m.of.at[i]})
	}
	return true
}
