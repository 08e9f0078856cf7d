package text

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/search"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/shard/local/read"
	"github.com/hopgate/hopgate/internal/storage/staging"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// Search answers a search in the state of a transaction, with what its writers have changed.
func (t *Indexes) Search(ctx context.Context, tx *read.Tx, ws []*staging.Writer, req *shard.TextSearch, res *shard.TextHits) error {
	res.Vertices, res.Edges, res.Scores = res.Vertices[:0], res.Edges[:0], res.Scores[:0]
	if err := tx.Alive(ctx); err != nil {
		return err
	}
	d := tx.Defs().ByID[req.Index]
	switch {
	case d == nil || d.Kind != graph.FullTextIndex:
		return fail.Misuse("no such full-text index %d", req.Index)
	case d.Failure != "" || !d.Online:
		return index.Unavailable(d)
	}
	x := t.find(req.Index)
	if x == nil {
		return errTextGone
	}
	if req.Await {
		return x.wait(ctx, nextOf(tx.Views()))
	}
	r := &search.Request{Fields: d.Props, Analyzer: x.analyzer, Most: req.Most, Room: req.Room}
	var err error
	if r.Query, err = search.Parse(req.Query); err != nil {
		return err
	}
	if req.Analyzer != "" {
		if r.Analyzer, err = search.FindAnalyzer(req.Analyzer); err != nil {
			return err
		}
	}
	hits, err := x.search(ctx, tx, ws, d, r)
	if err != nil {
		return err
	}
	for _, h := range hits {
		switch e, ok := DocEdge(h.ID); {
		case len(d.Types) == 0 && len(h.ID) == 8:
			res.Vertices = append(res.Vertices, graph.VertexID(binary.BigEndian.Uint64(h.ID)))
		case len(d.Types) > 0 && ok:
			res.Edges = append(res.Edges, e)
		default:
			return graph.CorruptError("read a full-text index", nil)
		}
		res.Scores = append(res.Scores, h.Score)
	}
	return nil
}

// nextOf is up to which changes views show, by shard.
func nextOf(views []*view.View) []uint64 {
	next := make([]uint64, len(views))
	for no, v := range views {
		next[no] = v.NextText()
	}
	return next
}

// search searches the index, and what it does not have of the transaction's state.
func (x *Index) search(ctx context.Context, tx *read.Tx, ws []*staging.Writer, d *index.Def, r *search.Request) (hits []search.Hit, err error) {
	next := nextOf(tx.Views())
	if !d.Text.Eventual {
		if err := x.wait(ctx, next); err != nil {
			return nil, err
		}
	}
	main, m, err := x.reader()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, main.Close()) }()
	parts := []search.Part{{Reader: main}}
	if d.Text.Eventual {
		return search.Search(ctx, parts, r)
	}
	owners, err := x.changedSince(ctx, ws, next, m.until)
	if err != nil {
		return nil, err
	}
	if len(owners) == 0 {
		return search.Search(ctx, parts, r)
	}
	over, err := x.overlay(ctx, tx, d, r, owners, &parts[0])
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, over.Close()) }()
	changed, err := over.Reader()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, changed.Close()) }()
	return search.Search(ctx, append(parts, search.Part{Reader: changed}), r)
}

// changedSince returns what was changed after a snapshot and may be in the index, and what writers have changed.
func (x *Index) changedSince(ctx context.Context, ws []*staging.Writer, next, until []uint64) ([]graph.IndexOwner, error) {
	seen := map[graph.IndexOwner]bool{}
	var owners []graph.IndexOwner
	add := func(o graph.IndexOwner) {
		if !seen[o] {
			seen[o] = true
			owners = append(owners, o)
		}
	}
	newest, release := x.of.g.Newest() // which has all that the index may have
	defer release()
	for no, v := range newest.Views {
		if err := v.TextChanges(ctx, x.id, next[no], until[no], func(_ uint64, o graph.IndexOwner) bool { add(o); return true }); err != nil {
			return nil, err
		}
	}
	for _, w := range ws {
		w.Texts.Noted(x.id, add)
	}
	return owners, nil
}

// overlay makes an index of what some owners are for the transaction, and leaves them out of the main part.
func (x *Index) overlay(ctx context.Context, tx *read.Tx, d *index.Def, r *search.Request, owners []graph.IndexOwner, main *search.Part) (_ *search.Index, err error) {
	over, err := search.Open("", x.analyzer)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, over.Close())
		}
	}()
	for some := range slices.Chunk(owners, textDocs) {
		docs, gone, err := x.of.docs(ctx, tx, d, some)
		if err != nil {
			return nil, err
		}
		bytes := 0
		for i := range docs {
			main.Without = append(main.Without, docs[i].ID)
			bytes += Bytes(&docs[i])
		}
		main.Without = append(main.Without, gone...)
		if r.Room != nil {
			if err := r.Room(Growth*bytes + 256*len(some)); err != nil {
				return nil, err
			}
		}
		if err := over.Apply(&search.Batch{Docs: docs}); err != nil {
			return nil, err
		}
	}
	return over, nil
}
