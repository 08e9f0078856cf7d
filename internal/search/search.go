package search

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/blevesearch/bleve/v2/index/scorch"
	bleve "github.com/blevesearch/bleve/v2/search"
	index "github.com/blevesearch/bleve_index_api"

	"github.com/hopgate/hopgate/internal/graph"
)

// Request is a search.
type Request struct {
	Query    *Query
	Fields   []string  // of the index
	Analyzer *Analyzer // of the query
	// Most is how many hits are wanted, the best; 0: all.
	Most int
	// Room, if not nil, is called before memory of some bytes is used.
	Room func(bytes int) error
}

// Part is a state of an index, without some documents.
type Part struct {
	*Reader
	Without []ID
}

// Hit is a document that a search has found.
type Hit struct {
	ID    ID
	Score float64
}

// hitBytes is what a hit takes in memory, with its place in the answer.
const hitBytes = 96

// checkEvery is after how many documents a search looks whether it may go on.
const checkEvery = 1 << 10

// Search returns the best hits in all parts, the one with the highest score first; of equal scores, that with the least ID. If Most
// cuts off hits of equal scores, any of them may remain. Scores are those of one index that holds the documents of all parts; documents
// that are left out still count in its statistics.
func Search(ctx context.Context, parts []Part, req *Request) (hits []Hit, err error) {
	room := req.Room
	if room == nil {
		room = func(int) error { return nil }
	}
	r := &resolver{ctx: ctx, fields: req.Fields, analyzer: req.Analyzer, lengths: map[string]float64{}, room: room}
	var all Stats
	for _, p := range parts {
		n, err := p.snap.DocCount()
		if err != nil {
			return nil, err
		}
		r.docs += n
		r.parts = append(r.parts, p.snap)
		all.add(&p.stats)
	}
	for f, n := range all.Terms {
		r.lengths[f] = float64(n) / float64(max(1, all.Docs[f]))
	}
	o, err := r.resolve(req.Query.root)
	if err != nil || o == nil {
		return nil, searchError(ctx, err)
	}
	t := &top{most: req.Most, room: room}
	for i, p := range parts {
		if err := t.searchPart(ctx, i, p, o); err != nil {
			return nil, searchError(ctx, err)
		}
	}
	hits, err = t.hits(parts)
	return hits, searchError(ctx, err)
}

// searchError says that a search was cancelled, or that its expressions are too large.
func searchError(ctx context.Context, err error) error {
	var known *graph.Error
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case ctx.Err() != nil:
		return graph.DeadlineError(ctx.Err())
	}
	return badExpression(err)
}

// found is a hit by its place.
type found struct {
	score float64
	doc   uint64
	part  int
}

// better orders hits as an answer does, as far as their places show it.
func better(a, b found) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.part, b.part), cmp.Compare(a.doc, b.doc))
}

// top holds the best hits so far: a heap whose first is the worst, or all.
type top struct {
	most int
	room func(bytes int) error
	list []found
}

func (t *top) searchPart(ctx context.Context, no int, p Part, o op) (err error) {
	without := map[uint64]bool{}
	for _, id := range p.Without {
		in, err := p.snap.InternalID(string(id))
		if err != nil {
			return err
		}
		if in != nil {
			without[in.Value()] = true
		}
	}
	s, err := (&builder{ctx, p.snap}).build(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	c := &bleve.SearchContext{DocumentMatchPool: bleve.NewDocumentMatchPool(s.DocumentMatchPoolSize()+1, 0), IndexReader: p.snap}
	for n := 0; ; n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		m, err := s.Next(c)
		if err != nil || m == nil {
			return err
		}
		f := found{m.Score, m.IndexInternalID.Value(), no}
		c.DocumentMatchPool.Put(m)
		if without[f.doc] {
			continue
		}
		if err := t.add(f); err != nil {
			return err
		}
	}
}

func (t *top) add(f found) error {
	if t.most > 0 && len(t.list) == t.most {
		if better(f, t.list[0]) < 0 {
			t.list[0] = f
			t.sink()
		}
		return nil
	}
	if len(t.list) == cap(t.list) {
		n := max(64, len(t.list))
		if t.most > 0 {
			n = min(n, t.most-len(t.list))
		}
		if err := t.room(n * hitBytes); err != nil {
			return err
		}
		t.list = slices.Grow(t.list, n)
	}
	t.list = append(t.list, f)
	if t.most == 0 {
		return nil
	}
	for i := len(t.list) - 1; i > 0; {
		above := (i - 1) / 2
		if better(t.list[i], t.list[above]) < 0 {
			break
		}
		t.list[i], t.list[above] = t.list[above], t.list[i]
		i = above
	}
	return nil
}

// sink moves the first to its place.
func (t *top) sink() {
	for i := 0; ; {
		worst := i
		for below := 2*i + 1; below < min(2*i+3, len(t.list)); below++ {
			if better(t.list[below], t.list[worst]) > 0 {
				worst = below
			}
		}
		if worst == i {
			return
		}
		t.list[i], t.list[worst] = t.list[worst], t.list[i]
		i = worst
	}
}

// hits names the hits and puts them in order.
func (t *top) hits(parts []Part) ([]Hit, error) {
	out := make([]Hit, len(t.list))
	var id index.IndexInternalID
	for i, f := range t.list {
		id = index.NewIndexInternalID(id, f.doc)
		name, err := parts[f.part].snap.ExternalID(id)
		if err != nil {
			return nil, err
		}
		out[i] = Hit{ID(name), f.score}
	}
	slices.SortFunc(out, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), bytes.Compare(a.ID, b.ID)) })
	return out, nil
}

var _ index.IndexReader = (*scorch.IndexSnapshot)(nil)
