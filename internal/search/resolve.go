package search

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/blevesearch/vellum"
	"github.com/blevesearch/vellum/levenshtein"
	expression "github.com/blevesearch/vellum/regexp"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/search/segment"
)

// A query is resolved once for all parts of a search: every part then looks for the same terms with the same weights, so that scores
// are those of one index.

// op is a resolved part of a query.
type op any

type (
	// scored is a term whose score is BM25's.
	scored struct {
		field string
		term  []byte
		docs  uint64 // that have it
		boost float64
		idf   float64
		avg   float64 // terms of the field
	}
	// constant is one of several terms; all have the same score.
	constant struct {
		field string
		terms [][]byte
		score float64
	}
	// phrase are terms at places, as far apart as slop.
	phrase struct {
		terms []scored
		at    []int
		slop  int
	}
	// everything is all documents.
	everything struct{ score float64 }
	// nothing matches no document.
	nothing struct{}
	// anyOf is a disjunction.
	anyOf struct{ of []op }
	// clauses is a conjunction, in which some are optional and some prohibited.
	clauses struct{ must, should, not []op }
)

// resolver resolves queries for the parts of a search.
type resolver struct {
	ctx      context.Context
	parts    []part
	fields   []string
	analyzer *Analyzer
	docs     uint64
	lengths  map[string]float64 // average, by field
	room     func(bytes int) error
}

const (
	// fuzzyTerms is how many terms, the nearest, a fuzzy one becomes.
	fuzzyTerms = 50
	termBytes  = 48 // of a term in memory, about, without its text
)

// resolve resolves a node; nil if it says nothing, such as a stop word.
func (r *resolver) resolve(n node) (op, error) {
	if g, ok := n.(*group); ok {
		return r.group(g)
	}
	l := n.(*leaf)
	if l.kind == leafAll {
		return everything{l.boost}, nil
	}
	fields := r.fields
	if l.field != "" {
		if fields = nil; slices.Contains(r.fields, l.field) {
			fields = []string{l.field}
		}
	}
	var any anyOf
	for _, f := range fields {
		o, err := r.leaf(l, f)
		if err != nil {
			return nil, err
		}
		if o == nil {
			return nil, nil
		}
		any.of = append(any.of, o)
	}
	switch len(any.of) {
	case 0:
		return nothing{}, nil
	case 1:
		return any.of[0], nil
	}
	return any, nil
}

func (r *resolver) group(g *group) (op, error) {
	var c clauses
	some := false
	for _, cl := range g.clauses {
		o, err := r.resolve(cl.node)
		if err != nil {
			return nil, err
		}
		if o == nil {
			continue
		}
		some = true
		switch cl.occur {
		case must1:
			c.must = append(c.must, o)
		case should:
			c.should = append(c.should, o)
		default:
			c.not = append(c.not, o)
		}
	}
	switch {
	case !some:
		return nil, nil
	case len(c.must)+len(c.should) == 0:
		return nothing{}, nil // there is nothing to take away from
	case len(c.not) == 0 && len(c.must) == 0 && len(c.should) == 1:
		return c.should[0], nil
	case len(c.not) == 0 && len(c.must) == 1 && len(c.should) == 0:
		return c.must[0], nil
	case len(c.not) == 0 && len(c.must) == 0:
		return anyOf{c.should}, nil
	}
	return c, nil
}

// leaf resolves a leaf for one field.
func (r *resolver) leaf(l *leaf, field string) (op, error) {
	switch l.kind {
	case leafWords, leafPhrase:
		return r.words(l, field)
	case leafFuzzy:
		return r.fuzzy(l, field)
	}
	norm := r.analyzer.normal
	set := &termSet{r: r, field: field, seen: map[string]bool{}}
	var err error
	switch l.kind {
	case leafPrefix:
		prefix := []byte(norm(l.text))
		err = set.scan(prefix, false, func(t []byte) bool { return bytes.HasPrefix(t, prefix) })
	case leafRange:
		lo, hi := norm(l.lo), norm(l.hi)
		if !l.noLo && !l.noHi && lo > hi {
			return nothing{}, nil
		}
		from := []byte(lo)
		if l.noLo {
			from = nil
		}
		err = set.scan(from, l.loOpen && !l.noLo, func(t []byte) bool {
			c := bytes.Compare(t, []byte(hi))
			return l.noHi || c < 0 || c == 0 && !l.hiOpen
		})
	default:
		pattern := l.text
		if l.kind == leafWildcard {
			pattern = wildcardPattern(pattern, norm)
		}
		var a vellum.Automaton
		if a, err = expression.New(pattern); err == nil {
			err = set.match(a, []byte(literalPrefix(pattern)))
		}
	}
	if err != nil {
		return nil, err
	}
	if len(set.terms) == 0 {
		return nothing{}, nil
	}
	return constant{field, set.terms, l.boost}, nil
}

// literalPrefix is what all matches of a regular expression begin with.
func literalPrefix(pattern string) string {
	at, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return ""
	}
	for at.Op == syntax.OpConcat && len(at.Sub) > 0 {
		at = at.Sub[0]
	}
	if at.Op == syntax.OpLiteral && at.Flags&syntax.FoldCase == 0 {
		return string(at.Rune)
	}
	return ""
}

// termSet collects the terms that a field has in all segments, without repeats.
type termSet struct {
	r     *resolver
	field string
	seen  map[string]bool
	terms [][]byte
	n     int
}

// each calls f for the field in all segments.
func (t *termSet) each(f func(f *segment.Field) error) error {
	for i := range t.r.parts {
		if at := t.r.parts[i].seg.Field(t.field); at != nil {
			if err := f(at); err != nil {
				return err
			}
		}
	}
	return nil
}

// scan adds terms from one on, which is left out if open, as long as while says.
func (t *termSet) scan(from []byte, open bool, while func(term []byte) bool) error {
	return t.each(func(f *segment.Field) error {
		all := f.Terms(from)
		for all.Next() {
			if c := bytes.Compare(all.Text(), from); c < 0 || c == 0 && open {
				continue
			}
			if !while(all.Text()) {
				break
			}
			if err := t.add(all.Text()); err != nil {
				return err
			}
		}
		return all.Err()
	})
}

// match adds the terms that an automaton accepts, which begin with a prefix.
func (t *termSet) match(a vellum.Automaton, prefix []byte) error {
	return t.each(func(f *segment.Field) error { return f.Match(a, prefix, t.add) })
}

func (t *termSet) add(term []byte) error {
	if t.n++; t.n&0xff == 0 && t.r.ctx.Err() != nil {
		return t.r.ctx.Err()
	}
	if t.seen[string(term)] {
		return nil
	}
	if err := t.r.room(termBytes + 2*len(term)); err != nil {
		return err
	}
	text := string(term)
	t.seen[text] = true
	t.terms = append(t.terms, []byte(text))
	return nil
}

// words resolves terms, or the phrase that they make.
func (r *resolver) words(l *leaf, field string) (op, error) {
	terms := r.analyzer.terms(l.text)
	switch {
	case len(terms) == 0:
		return nil, nil
	case l.kind == leafPhrase && len(terms) > 1:
		p := phrase{slop: l.slop}
		for _, t := range terms {
			s, err := r.scored(field, []byte(t.text), l.boost)
			if err != nil {
				return nil, err
			}
			p.terms, p.at = append(p.terms, s), append(p.at, t.pos)
		}
		return p, nil
	}
	var any anyOf
	for _, t := range terms {
		s, err := r.scored(field, []byte(t.text), l.boost)
		if err != nil {
			return nil, err
		}
		any.of = append(any.of, s)
	}
	if len(any.of) == 1 {
		return any.of[0], nil
	}
	return any, nil
}

// scored weighs a term by how many documents of all parts have it.
func (r *resolver) scored(field string, t []byte, boost float64) (scored, error) {
	n := uint64(0)
	for i := range r.parts {
		k, err := r.parts[i].docsWith(field, t)
		if err != nil {
			return scored{}, err
		}
		n += k
	}
	docs := float64(max(r.docs, n))
	return scored{field, t, n, boost, math.Log(1 + (docs-float64(n)+0.5)/(float64(n)+0.5)), max(r.lengths[field], 1)}, nil
}

// fuzzy resolves the terms that are nearest to one. Those that differ more count less.
func (r *resolver) fuzzy(l *leaf, field string) (op, error) {
	text := r.analyzer.normal(l.text)
	size := utf8.RuneCountInString(text)
	edits := l.edits
	if l.similarity > 0 {
		edits = min(int((1-l.similarity)*float64(size)), 2)
	}
	if edits == 0 {
		return r.scored(field, []byte(text), l.boost)
	}
	type near struct {
		term string
		far  int
	}
	var all []near
	a, err := nearby[edits-1]().BuildDfa(text, uint8(edits))
	if err != nil {
		return nil, err
	}
	set := &termSet{r: r, field: field, seen: map[string]bool{}}
	if err := set.match(a, nil); err != nil {
		return nil, err
	}
	for _, t := range set.terms {
		all = append(all, near{string(t), distance(text, string(t))})
	}
	slices.SortFunc(all, func(a, b near) int { return cmp.Or(cmp.Compare(a.far, b.far), strings.Compare(a.term, b.term)) })
	var any anyOf
	for _, n := range all {
		if len(any.of) == fuzzyTerms {
			break
		}
		boost := l.boost * (1 - float64(n.far)/float64(max(1, min(size, utf8.RuneCountInString(n.term)))))
		if boost <= 0 {
			continue // as different as can be
		}
		s, err := r.scored(field, []byte(n.term), boost)
		if err != nil {
			return nil, err
		}
		if s.docs > 0 { // else all that had it are dead
			any.of = append(any.of, s)
		}
	}
	switch len(any.of) {
	case 0:
		return nothing{}, nil
	case 1:
		return any.of[0], nil
	}
	return any, nil
}

// nearby make the automata of terms that differ by one change or by two, of which to exchange two characters is one.
var nearby = [2]func() *levenshtein.LevenshteinAutomatonBuilder{nearbyBy(1), nearbyBy(2)}

func nearbyBy(edits uint8) func() *levenshtein.LevenshteinAutomatonBuilder {
	return sync.OnceValue(func() *levenshtein.LevenshteinAutomatonBuilder {
		b, err := levenshtein.NewLevenshteinAutomatonBuilder(edits, true)
		must(err)
		return b
	})
}

// docsWith is how many living documents have a term.
func (p *part) docsWith(field string, t []byte) (uint64, error) {
	f := p.seg.Field(field)
	if f == nil {
		return 0, nil
	}
	at, ok, err := f.Find(t)
	switch {
	case err != nil || !ok:
		return 0, err
	case p.dead == nil:
		return uint64(at.Docs), nil
	}
	n := uint64(0)
	list := f.Postings(at, true)
	for list.NextBlock() {
		for _, doc := range list.Docs() {
			if !p.isDead(doc) {
				n++
			}
		}
	}
	return n, list.Err()
}

// distance is the number of characters to insert, delete or replace to turn one text into the other.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			cost := diagonal
			if x[i] != y[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(y)]
}

// wildcardPattern is the regular expression of a pattern of * and ?.
func wildcardPattern(pattern string, norm func(string) string) string {
	var b strings.Builder
	literal := func(s string) { b.WriteString(regexp.QuoteMeta(norm(s))) }
	start := 0
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			literal(pattern[start:i])
			start = i + 1
			i++
		case '*', '?':
			literal(pattern[start:i])
			start = i + 1
			if b.WriteByte('.'); pattern[i] == '*' {
				b.WriteByte('*')
			}
		}
	}
	literal(pattern[start:])
	return b.String()
}

// validRegexp says why a regular expression cannot be searched for.
func validRegexp(s string) error {
	_, err := expression.New(s)
	return err
}

// badExpression is the error of an expression that takes too much memory.
func badExpression(err error) error {
	return graph.RuntimeError("ArgumentError", "InvalidSearchQuery", "the full-text query cannot be run: %v", err)
}
