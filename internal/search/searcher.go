package search

import (
	"context"
	"errors"

	"github.com/blevesearch/bleve/v2/index/scorch"
	bleve "github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/searcher"
	index "github.com/blevesearch/bleve_index_api"
)

// BM25's constants, those of Lucene.
const (
	k1 = 1.2
	b  = 0.75
)

// builder makes the searchers of a resolved query for one part.
type builder struct {
	ctx  context.Context
	part *scorch.IndexSnapshot
}

var options = bleve.SearcherOptions{}

func (b *builder) build(o op) (bleve.Searcher, error) {
	switch o := o.(type) {
	case scored:
		return b.term(&o, false)
	case constant:
		return b.constant(&o)
	case phrase:
		return b.phrase(&o)
	case everything:
		s, err := searcher.NewMatchAllSearcher(b.ctx, b.part, 1, options)
		return &fixed{s, o.score}, err
	case anyOf:
		return b.any(o.of, 1)
	case clauses:
		return b.clauses(&o)
	}
	return searcher.NewMatchNoneSearcher(b.part)
}

func (b *builder) all(of []op) (list []bleve.Searcher, err error) {
	for _, o := range of {
		s, err := b.build(o)
		if err != nil {
			return nil, errors.Join(err, closeAll(list))
		}
		list = append(list, s)
	}
	return list, nil
}

func closeAll(list []bleve.Searcher) error {
	var errs []error
	for _, s := range list {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

func (b *builder) any(of []op, least float64) (bleve.Searcher, error) {
	list, err := b.all(of)
	if err != nil {
		return nil, err
	}
	s, err := searcher.NewDisjunctionSearcher(b.ctx, b.part, list, least, options)
	if err != nil {
		return nil, errors.Join(err, closeAll(list))
	}
	return s, nil
}

func (b *builder) conjunction(list []bleve.Searcher, o bleve.SearcherOptions) (bleve.Searcher, error) {
	if len(list) == 1 {
		return list[0], nil
	}
	s, err := searcher.NewConjunctionSearcher(b.ctx, b.part, list, o)
	if err != nil {
		return nil, errors.Join(err, closeAll(list))
	}
	return s, nil
}

func (b *builder) clauses(c *clauses) (_ bleve.Searcher, err error) {
	var all, some, none bleve.Searcher
	defer func() {
		if err != nil {
			for _, s := range []bleve.Searcher{all, some, none} {
				if s != nil {
					err = errors.Join(err, s.Close())
				}
			}
		}
	}()
	if len(c.must) > 0 {
		list, err := b.all(c.must)
		if err != nil {
			return nil, err
		}
		if all, err = b.conjunction(list, options); err != nil {
			return nil, err
		}
	}
	if len(c.should) > 0 {
		least := 1.0
		if len(c.must) > 0 {
			least = 0
		}
		if some, err = b.any(c.should, least); err != nil {
			return nil, err
		}
	}
	if len(c.not) > 0 {
		if none, err = b.any(c.not, 1); err != nil {
			return nil, err
		}
	}
	return searcher.NewBooleanSearcher(b.ctx, b.part, all, some, none, options)
}

// term makes the searcher of a scored term.
func (b *builder) term(o *scored, places bool) (*termSearcher, error) {
	r, err := b.part.TermFieldReader(b.ctx, o.term, o.field, true, true, places)
	if err != nil {
		return nil, err
	}
	return &termSearcher{reader: r, of: o, places: places}, nil
}

// termSearcher finds the documents with a term. It implements bleve.Searcher.
type termSearcher struct {
	reader index.TermFieldReader
	of     *scored
	places bool
	doc    index.TermFieldDoc
}

func (s *termSearcher) match(ctx *bleve.SearchContext, d *index.TermFieldDoc, err error) (*bleve.DocumentMatch, error) {
	if d == nil || err != nil {
		return nil, err
	}
	m := ctx.DocumentMatchPool.Get()
	m.IndexInternalID = append(m.IndexInternalID[:0], d.ID...)
	// The norm is one by the root of the number of terms.
	tf, length := float64(d.Freq), 1/(d.Norm*d.Norm)
	m.Score = s.of.boost * s.of.idf * tf / (tf + k1*(1-b+b*length/s.of.avg))
	if s.places {
		for _, v := range d.Vectors {
			m.FieldTermLocations = append(m.FieldTermLocations, bleve.FieldTermLocation{
				Field: v.Field, Term: string(s.of.term), Location: bleve.Location{Pos: v.Pos, ArrayPositions: append(bleve.ArrayPositions(nil), v.ArrayPositions...)},
			})
		}
	}
	return m, nil
}

// Next implements bleve.Searcher.
func (s *termSearcher) Next(ctx *bleve.SearchContext) (*bleve.DocumentMatch, error) {
	d, err := s.reader.Next(s.doc.Reset())
	return s.match(ctx, d, err)
}

// Advance implements bleve.Searcher.
func (s *termSearcher) Advance(ctx *bleve.SearchContext, id index.IndexInternalID) (*bleve.DocumentMatch, error) {
	d, err := s.reader.Advance(id, s.doc.Reset())
	return s.match(ctx, d, err)
}

// Optimize implements index.Optimizable: conjunctions intersect the lists of their terms first.
func (s *termSearcher) Optimize(kind string, o index.OptimizableContext) (index.OptimizableContext, error) {
	if r, ok := s.reader.(index.Optimizable); ok {
		return r.Optimize(kind, o)
	}
	return nil, nil
}

// Close implements bleve.Searcher, and so do the methods below. Scores have no norm of the query.
func (s *termSearcher) Close() error               { return s.reader.Close() }
func (s *termSearcher) Weight() float64            { return 1 }
func (s *termSearcher) SetQueryNorm(float64)       {}
func (s *termSearcher) Count() uint64              { return s.reader.Count() }
func (s *termSearcher) Min() int                   { return 0 }
func (s *termSearcher) Size() int                  { return s.reader.Size() }
func (s *termSearcher) DocumentMatchPoolSize() int { return 1 }

// fixed gives all hits of another searcher one score.
type fixed struct {
	bleve.Searcher
	score float64
}

// Next implements bleve.Searcher.
func (s *fixed) Next(ctx *bleve.SearchContext) (*bleve.DocumentMatch, error) {
	m, err := s.Searcher.Next(ctx)
	if m != nil {
		m.Score = s.score
	}
	return m, err
}

// Advance implements bleve.Searcher.
func (s *fixed) Advance(ctx *bleve.SearchContext, id index.IndexInternalID) (*bleve.DocumentMatch, error) {
	m, err := s.Searcher.Advance(ctx, id)
	if m != nil {
		m.Score = s.score
	}
	return m, err
}

// Weight implements bleve.Searcher.
func (s *fixed) Weight() float64 { return 1 }

// SetQueryNorm implements bleve.Searcher.
func (s *fixed) SetQueryNorm(float64) {}

// termsAtOnce is how many lists of terms are joined at a time.
const termsAtOnce = 256

// constant joins the lists of terms to one set of documents, some at a time.
func (b *builder) constant(o *constant) (bleve.Searcher, error) {
	var joined index.TermFieldReader
	for rest := o.terms; len(rest) > 0; {
		some := rest[:min(len(rest), termsAtOnce)]
		rest = rest[len(some):]
		if err := b.ctx.Err(); err != nil {
			return nil, err
		}
		var err error
		if joined, err = b.join(o.field, some, joined); err != nil {
			return nil, err
		}
	}
	return &fixed{&termSearcher{reader: joined, of: &scored{}}, o.score}, nil
}

// join returns the documents that any of some terms, or of more, has.
func (b *builder) join(field string, terms [][]byte, more index.TermFieldReader) (_ index.TermFieldReader, err error) {
	var readers []index.TermFieldReader
	if more != nil {
		readers = append(readers, more)
	}
	defer func() {
		for _, r := range readers {
			err = errors.Join(err, r.Close())
		}
	}()
	for _, t := range terms {
		r, err := b.part.TermFieldReader(b.ctx, t, field, false, false, false)
		if err != nil {
			return nil, err
		}
		readers = append(readers, r)
	}
	if len(readers) == 1 {
		one := readers[0]
		readers = nil
		return one, nil
	}
	var o index.OptimizableContext
	for _, r := range readers {
		if o, err = r.(index.Optimizable).Optimize("disjunction:unadorned", o); err != nil {
			return nil, err
		}
		if o == nil {
			return nil, errors.New("lists of terms cannot be joined")
		}
	}
	out, err := o.Finish()
	if err != nil {
		return nil, err
	}
	r, ok := out.(index.TermFieldReader)
	if !ok {
		return nil, errors.New("lists of terms cannot be joined")
	}
	return r, nil
}
