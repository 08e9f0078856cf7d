package search

import (
	"context"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/hopgate/hopgate/internal/search/segment"
)

// BM25's constants, those of Lucene.
const (
	k1 = 1.2
	b  = 0.75
)

// windowDocs is how many documents matchers look at together.
const windowDocs = 4096

// noFloor is below all scores.
var noFloor = math.Inf(-1)

// window has the documents, from a multiple of windowDocs on, that match something, and their scores.
type window struct {
	set    [windowDocs / 64]uint64
	scores [windowDocs]float64 // of the documents in set
}

var windows = sync.Pool{New: func() any { return new(window) }}

func (w *window) empty() bool {
	some := uint64(0)
	for _, word := range w.set {
		some |= word
	}
	return some == 0
}

// and leaves the documents that are in another window too, with the sums of both scores.
func (w *window) and(o *window) {
	for i := range w.set {
		w.set[i] &= o.set[i]
		w.plus(i, w.set[i], o)
	}
}

// plus adds the scores of some documents of a word of the set.
func (w *window) plus(word int, some uint64, o *window) {
	for ; some != 0; some &= some - 1 {
		at := 64*word + bits.TrailingZeros64(some)
		w.scores[at] += o.scores[at]
	}
}

// matcher finds the documents of a segment that match a resolved query. The windows that it is asked for ascend.
type matcher interface {
	// next returns the least document from one on that may match; segment.NoDoc if there is none.
	next(from uint32) uint32
	// fill puts the documents from base on into a window, whose set is empty. Those with a score of floor or less may be left out.
	fill(base uint32, w *window, floor float64)
}

// builder makes the matchers of a resolved query for one segment.
type builder struct {
	ctx     context.Context
	seg     *segment.Segment
	room    func(bytes int) error
	used    []*segment.Postings
	windows []*window
}

// free returns the windows.
func (b *builder) free() {
	for _, w := range b.windows {
		windows.Put(w)
	}
}

// err says whether the segment is corrupt.
func (b *builder) err() error {
	for _, p := range b.used {
		if err := p.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) window() *window {
	w := windows.Get().(*window)
	b.windows = append(b.windows, w)
	return w
}

func (b *builder) build(o op) (matcher, error) {
	switch o := o.(type) {
	case scored:
		return b.term(&o)
	case constant:
		return b.constant(&o)
	case phrase:
		return b.phrase(&o)
	case everything:
		return &all{uint32(b.seg.Docs()), o.score}, nil
	case anyOf:
		return b.any(o.of)
	case clauses:
		return b.clauses(&o)
	}
	return none{}, nil
}

func (b *builder) list(of []op) ([]matcher, error) {
	out := make([]matcher, len(of))
	for i, o := range of {
		var err error
		if out[i], err = b.build(o); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (b *builder) any(of []op) (matcher, error) {
	list, err := b.list(of)
	if err != nil {
		return nil, err
	}
	if len(list) == 1 {
		return list[0], nil
	}
	return &either{of: list, tmp: b.window()}, nil
}

func (b *builder) clauses(c *clauses) (matcher, error) {
	m := &conjunction{}
	var err error
	if m.must, err = b.list(c.must); err != nil {
		return nil, err
	}
	if len(c.should) > 0 {
		if m.should, err = b.any(c.should); err != nil {
			return nil, err
		}
	}
	if len(m.must) == 0 {
		m.must, m.should = []matcher{m.should}, nil
	}
	if len(c.not) > 0 {
		if m.not, err = b.any(c.not); err != nil {
			return nil, err
		}
	}
	if len(m.must) > 1 || m.should != nil || m.not != nil {
		m.tmp = b.window()
	}
	return m, nil
}

// none matches nothing.
type none struct{}

func (none) next(uint32) uint32            { return segment.NoDoc }
func (none) fill(uint32, *window, float64) {}

// all matches all documents.
type all struct {
	docs  uint32
	score float64
}

func (m *all) next(from uint32) uint32 {
	if from < m.docs {
		return from
	}
	return segment.NoDoc
}

func (m *all) fill(base uint32, w *window, _ float64) {
	for i := range min(m.docs-base, windowDocs) {
		w.set[i>>6] |= 1 << (i & 63)
		w.scores[i] = m.score
	}
}

// term matches the documents with a term. Its scores are BM25's.
type term struct {
	*segment.Postings
	field  *segment.Field
	bytes  []byte // lengths, if they are below 256
	weight float64
	avg    float64
	floor  float64
	once   [256]float64 // by length: the score of a document with the term once; 0: not known yet
}

func (b *builder) postings(f *segment.Field, text []byte) (*segment.Postings, error) {
	if f == nil {
		return nil, nil
	}
	t, ok, err := f.Find(text)
	if err != nil || !ok {
		return nil, err
	}
	p := f.Postings(t, false)
	b.used = append(b.used, p)
	return p, nil
}

func (b *builder) term(o *scored) (matcher, error) {
	t, err := b.newTerm(o)
	if err != nil || t == nil {
		return none{}, err
	}
	return t, nil
}

// newTerm makes the matcher of a term; nil if no document has it.
func (b *builder) newTerm(o *scored) (*term, error) {
	f := b.seg.Field(o.field)
	p, err := b.postings(f, o.term)
	if err != nil || p == nil {
		return nil, err
	}
	return &term{Postings: p, field: f, bytes: f.ByteLengths(), weight: o.boost * o.idf, avg: o.avg, floor: noFloor}, nil
}

// score is BM25's.
func (t *term) score(freq, length uint32) float64 {
	tf := float64(freq)
	return t.weight * tf / (tf + k1*(1-b+b*float64(length)/t.avg))
}

// seek goes to the documents from one on that may have a score over the floor.
func (t *term) seek(from uint32) bool {
	if t.floor == noFloor {
		return t.Seek(from, nil)
	}
	return t.Seek(from, t.weak)
}

// weak reports whether a bound of scores is below the floor, also if it was rounded down.
func (t *term) weak(freq, length uint32) bool { return t.score(freq, length)*(1+1e-12) <= t.floor }

func (t *term) next(from uint32) uint32 {
	if !t.seek(from) {
		return segment.NoDoc
	}
	docs := t.Docs()
	i, _ := slices.BinarySearch(docs, from)
	return docs[i]
}

func (t *term) fill(base uint32, w *window, floor float64) {
	t.floor = floor
	for from := base; t.seek(from); {
		docs, freqs := t.Docs(), t.Freqs()
		i, _ := slices.BinarySearch(docs, base)
		for ; i < len(docs); i++ {
			at := docs[i] - base
			if at >= windowDocs {
				return
			}
			var s float64
			if freqs[i] == 1 && t.bytes != nil {
				n := t.bytes[docs[i]]
				if s = t.once[n]; s == 0 {
					s = t.score(1, uint32(n))
					t.once[n] = s
				}
			} else {
				s = t.score(freqs[i], t.field.Length(docs[i]))
			}
			if s > floor {
				w.set[at>>6] |= 1 << (at & 63)
				w.scores[at] = s
			}
		}
		from = docs[len(docs)-1] + 1
	}
}

// fixed matches documents that were found before; all have one score.
type fixed struct {
	set   []uint64
	score float64
}

// constant joins the lists of terms to one set of documents.
func (b *builder) constant(o *constant) (matcher, error) {
	f := b.seg.Field(o.field)
	if f == nil {
		return none{}, nil
	}
	size := (b.seg.Docs() + 63) / 64
	if err := b.room(8 * size); err != nil {
		return nil, err
	}
	m := &fixed{make([]uint64, size), o.score}
	p := &segment.Postings{}
	for i, t := range o.terms {
		if i&0xff == 0 && b.ctx.Err() != nil {
			return nil, b.ctx.Err()
		}
		at, ok, err := f.Find(t)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		for p.Reset(f, at, true); p.NextBlock(); {
			for _, doc := range p.Docs() {
				m.set[doc>>6] |= 1 << (doc & 63)
			}
		}
		if err := p.Err(); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *fixed) next(from uint32) uint32 {
	for i := int(from >> 6); i < len(m.set); i++ {
		word := m.set[i]
		if i == int(from>>6) {
			word &= ^uint64(0) << (from & 63)
		}
		if word != 0 {
			return uint32(64*i + bits.TrailingZeros64(word))
		}
	}
	return segment.NoDoc
}

func (m *fixed) fill(base uint32, w *window, floor float64) {
	if m.score <= floor {
		return
	}
	from := min(int(base>>6), len(m.set))
	for i, word := range m.set[from:min(from+len(w.set), len(m.set))] {
		for w.set[i] = word; word != 0; word &= word - 1 {
			w.scores[64*i+bits.TrailingZeros64(word)] = m.score
		}
	}
}

// either matches what any of several matches. A score is the sum, times the part of them that match.
type either struct {
	of     []matcher
	tmp    *window
	counts [windowDocs]uint16
}

func (m *either) next(from uint32) uint32 {
	least := uint32(segment.NoDoc)
	for _, o := range m.of {
		least = min(least, o.next(from))
	}
	return least
}

func (m *either) fill(base uint32, w *window, _ float64) {
	for _, o := range m.of {
		clear(m.tmp.set[:])
		o.fill(base, m.tmp, noFloor)
		for i, word := range m.tmp.set {
			for added := word &^ w.set[i]; added != 0; added &= added - 1 {
				at := 64*i + bits.TrailingZeros64(added)
				w.scores[at], m.counts[at] = m.tmp.scores[at], 1
			}
			for again := word & w.set[i]; again != 0; again &= again - 1 {
				at := 64*i + bits.TrailingZeros64(again)
				w.scores[at] += m.tmp.scores[at]
				m.counts[at]++
			}
			w.set[i] |= word
		}
	}
	for i, word := range w.set {
		for ; word != 0; word &= word - 1 {
			at := 64*i + bits.TrailingZeros64(word)
			w.scores[at] *= float64(m.counts[at]) / float64(len(m.of))
		}
	}
}

// conjunction matches what all of some match and one does not. One more raises scores.
type conjunction struct {
	must        []matcher
	should, not matcher // or nil
	tmp         *window
}

func (m *conjunction) next(from uint32) uint32 { return nextOfAll(m.must, from) }

// nextOfAll returns a document from which on all may match; none before it matches all.
func nextOfAll[M matcher](all []M, from uint32) uint32 {
	for _, o := range all {
		if from = o.next(from); from == segment.NoDoc {
			break
		}
	}
	return from
}

// fillAll fills a window with what all match; tmp is another window, and floor that of the first.
func fillAll[M matcher](all []M, base uint32, w, tmp *window, floor float64) {
	all[0].fill(base, w, floor)
	for _, o := range all[1:] {
		if w.empty() {
			return
		}
		clear(tmp.set[:])
		o.fill(base, tmp, noFloor)
		w.and(tmp)
	}
}

func (m *conjunction) fill(base uint32, w *window, floor float64) {
	if m.tmp != nil {
		floor = noFloor
	}
	fillAll(m.must, base, w, m.tmp, floor)
	if m.not != nil && !w.empty() {
		clear(m.tmp.set[:])
		m.not.fill(base, m.tmp, noFloor)
		for i := range w.set {
			w.set[i] &^= m.tmp.set[i]
		}
	}
	if m.should != nil && !w.empty() {
		clear(m.tmp.set[:])
		m.should.fill(base, m.tmp, noFloor)
		for i := range w.set {
			w.plus(i, w.set[i]&m.tmp.set[i], m.tmp)
		}
	}
}
