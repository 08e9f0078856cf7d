package search

import (
	"errors"
	"slices"

	bleve "github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/searcher"
)

// phrase makes the searcher of a phrase: of the documents with all terms, those in which they stand near enough.
func (b *builder) phrase(o *phrase) (bleve.Searcher, error) {
	var list []bleve.Searcher
	m := newMatcher(o)
	for i := range o.terms {
		if m.first[i] != i {
			continue
		}
		s, err := b.term(&o.terms[i], true)
		if err != nil {
			return nil, errors.Join(err, closeAll(list))
		}
		list = append(list, s)
	}
	all, err := b.conjunction(list, bleve.SearcherOptions{IncludeTermVectors: true})
	if err != nil {
		return nil, err
	}
	return searcher.NewFilteringSearcher(b.ctx, all, func(_ *bleve.SearchContext, d *bleve.DocumentMatch) bool { return m.matches(d) }), nil
}

// phraseMatcher decides whether the terms of a phrase stand near enough in a document. Each term may stand as far from its place as the
// others' shifts are less than the slop, as in Lucene's SloppyPhraseMatcher: the greatest shift of a term minus the least.
type phraseMatcher struct {
	of     *phrase
	first  []int   // by term of the phrase: the first term that is equal
	shifts [][]int // where it stands, less where it stands in the phrase, ascending
	used   []use
}

// use is a place that a term has taken.
type use struct{ term, pos int }

func newMatcher(of *phrase) *phraseMatcher {
	m := &phraseMatcher{of: of, shifts: make([][]int, len(of.terms))}
	for i := range of.terms {
		m.first = append(m.first, slices.IndexFunc(of.terms, func(s scored) bool { return string(s.term) == string(of.terms[i].term) }))
	}
	return m
}

func (m *phraseMatcher) matches(d *bleve.DocumentMatch) bool {
	locations := d.FieldTermLocations
	// The elements of a list are texts of their own.
	slices.SortStableFunc(locations, func(a, b bleve.FieldTermLocation) int {
		return a.Location.ArrayPositions.Compare(b.Location.ArrayPositions)
	})
	for len(locations) > 0 {
		n := 1
		for n < len(locations) && locations[n].Location.ArrayPositions.Equals(locations[0].Location.ArrayPositions) {
			n++
		}
		if m.near(locations[:n]) {
			return true
		}
		locations = locations[n:]
	}
	return false
}

// near looks for a place in one text.
func (m *phraseMatcher) near(at []bleve.FieldTermLocation) bool {
	for i := range m.of.terms {
		m.shifts[i] = m.shifts[i][:0]
		for k := range at {
			if at[k].Term == string(m.of.terms[i].term) {
				m.shifts[i] = append(m.shifts[i], int(at[k].Location.Pos)-m.of.at[i])
			}
		}
		if len(m.shifts[i]) == 0 {
			return false
		}
		slices.Sort(m.shifts[i])
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
func (m *phraseMatcher) fits(least int) bool {
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
