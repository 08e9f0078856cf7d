package search

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math/bits"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/search/segment"
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
		r.docs += p.Docs()
		r.parts = append(r.parts, p.parts...)
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
	for i := range parts {
		if err := t.searchPart(ctx, &parts[i], o); err != nil {
			return nil, searchError(ctx, err)
		}
	}
	hits, err = t.hits(r.parts)
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
	case errors.Is(err, segment.ErrCorrupt):
		return graph.CorruptError("read a full-text index", err)
	}
	return badExpression(err)
}

// found is a hit by its place.
type found struct {
	score float64
	part  uint32 // the number of its segment among those of all parts
	doc   uint32
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
	done uint32 // segments
}

func (t *top) searchPart(ctx context.Context, p *Part, o op) error {
	for i := range p.parts {
		at := p.parts[i]
		at.without(nil, p.Without)
		if err := t.searchSegment(ctx, &at, o); err != nil {
			return err
		}
		t.done++
	}
	return nil
}

func (t *top) searchSegment(ctx context.Context, p *part, o op) error {
	bld := &builder{ctx: ctx, seg: p.seg, room: t.room}
	defer bld.free()
	m, err := bld.build(o)
	if err != nil {
		return err
	}
	w := bld.window()
	for from := m.next(0); from != segment.NoDoc; {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		base := from / windowDocs * windowDocs
		clear(w.set[:])
		m.fill(base, w, t.floor())
		for i, word := range w.set {
			if p.dead != nil && word != 0 {
				word &^= p.dead[int(base/64)+i]
			}
			for ; word != 0; word &= word - 1 {
				at := 64*i + bits.TrailingZeros64(word)
				if w.scores[at] <= t.floor() {
					continue
				}
				if err := t.add(found{w.scores[at], t.done, base + uint32(at)}); err != nil {
					return err
				}
			}
		}
		if from = base + windowDocs; from < base {
			break // there are no greater numbers
		}
		from = m.next(from)
	}
	return bld.err()
}

// floor is the score that a hit must exceed.
func (t *top) floor() float64 {
	if t.most > 0 && len(t.list) == t.most {
		return t.list[0].score
	}
	return noFloor
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
func (t *top) hits(parts []part) ([]Hit, error) {
	if t.most > 0 {
		slices.SortFunc(t.list, func(a, b found) int { return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.doc, b.doc)) })
	}
	out := make([]Hit, len(t.list))
	var names []byte
	for i := 0; i < len(t.list); {
		no := t.list[i].part
		for ids := parts[no].seg.IDs(); i < len(t.list) && t.list[i].part == no; i++ {
			id := ids.ID(t.list[i].doc)
			if id == nil {
				return nil, segment.ErrCorrupt
			}
			if len(names)+len(id) > cap(names) {
				names = make([]byte, 0, max(len(id)*min(len(t.list)-i, 1024), len(id)))
			}
			names = append(names, id...)
			out[i] = Hit{ID(names[len(names)-len(id) : len(names) : len(names)]), t.list[i].score}
		}
	}
	slices.SortFunc(out, func(a, b Hit) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return bytes.Compare(a.ID, b.ID)
	})
	return out, nil
}
