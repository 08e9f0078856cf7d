package text

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/search"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/shard/local/read"
)

// Fault is the kind of faults of full-text indexes.
const Fault = "full-text index"

// maxTextExamples bounds the examples of faults of full-text indexes.
const maxTextExamples = 10

// Check compares each full-text index with the newest snapshot, document by document. A repair has the index read again what is wrong.
func (t *Indexes) Check(ctx context.Context, rep *shard.CheckReport, o shard.CheckOptions) error {
	f := &shard.CheckFinding{Kind: Fault, Repairable: true}
	for _, ix := range t.catalog.Indexes() {
		if ix.Kind != graph.FullTextIndex || !ix.Online || ix.Failure != "" {
			continue
		}
		if o.Progress != nil {
			o.Progress("full-text index "+ix.Name, 0)
		}
		wrong, err := t.check(ctx, ix.ID, f)
		if err != nil {
			return err
		}
		if len(wrong) == 0 || !o.Repair {
			continue
		}
		if err := t.g.Note(ctx, ix.ID, wrong); err != nil {
			return err
		}
		left, err := t.check(ctx, ix.ID, &shard.CheckFinding{})
		if err != nil {
			return err
		}
		f.Repaired += uint64(len(wrong) - min(len(left), len(wrong)))
	}
	if f.Count > 0 {
		rep.Findings = append(rep.Findings, f)
	}
	return nil
}

// textCheck compares an index with a transaction.
type textCheck struct {
	of    *Indexes
	tx    *read.Tx
	d     *index.Def
	main  *search.Reader
	skip  map[graph.IndexOwner]bool // what was changed meanwhile
	f     *shard.CheckFinding
	wrong []graph.IndexOwner
}

// check returns the owners whose documents are missing, wrong or too many in an index.
func (t *Indexes) check(ctx context.Context, id graph.IndexID, f *shard.CheckFinding) (_ []graph.IndexOwner, err error) {
	x := t.find(id)
	if x == nil {
		return nil, nil
	}
	tx, end, err := t.g.ReadNewest()
	if err != nil {
		return nil, err
	}
	defer end()
	d := tx.Defs().ByID[id]
	if d == nil || !d.Online {
		return nil, nil
	}
	next := nextOf(tx.Views())
	if err := x.wait(ctx, next); err != nil {
		return nil, err
	}
	main, m, err := x.reader()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, main.Close()) }()
	changed, err := x.changedSince(ctx, nil, next, m.until)
	if err != nil {
		return nil, err
	}
	c := &textCheck{of: t, tx: tx, d: d, main: main, skip: map[graph.IndexOwner]bool{}, f: f}
	for _, o := range changed {
		c.skip[o] = true
	}
	if len(d.Types) > 0 {
		err = c.edges(ctx)
	} else {
		err = c.vertices(ctx)
	}
	if err == nil {
		err = c.surplus(ctx)
	}
	return c.wrong, err
}

func (c *textCheck) note(o graph.IndexOwner, what string) {
	c.wrong = append(c.wrong, o)
	if c.f.Count++; len(c.f.Examples) < maxTextExamples {
		c.f.Examples = append(c.f.Examples, fmt.Sprintf("%s: %s of %s", c.d.Name, what, index.OwnerName(o)))
	}
}

// compare looks for the documents of owners in the index.
func (c *textCheck) compare(ctx context.Context, owners []graph.IndexOwner) error {
	docs, _, err := c.of.docs(ctx, c.tx, c.d, owners)
	if err != nil {
		return err
	}
	for i := range docs {
		o := docOwner(docs[i].ID)
		if c.skip[o] {
			continue
		}
		if !c.main.Holds(&docs[i]) {
			c.note(o, "no document, or another,")
		}
	}
	return nil
}

// docOwner is the owner of a document.
func docOwner(id search.ID) graph.IndexOwner {
	if e, ok := DocEdge(id); ok {
		return index.EdgeOwner(e)
	}
	return graph.IndexOwner{Vertex: graph.VertexID(binary.BigEndian.Uint64(id))}
}

func (c *textCheck) vertices(ctx context.Context) error {
	for from, done := graph.VertexID(0), false; !done; {
		ids := make([]graph.VertexID, 0, graph.BatchSize)
		var err error
		if ids, from, done, err = c.tx.Scan(ctx, 0, from, ids); err != nil {
			return err
		}
		owners := make([]graph.IndexOwner, len(ids))
		for i, id := range ids {
			owners[i] = graph.IndexOwner{Vertex: id}
		}
		if err := c.compare(ctx, owners); err != nil {
			return err
		}
	}
	return nil
}

func (c *textCheck) edges(ctx context.Context) error {
	var res shard.Neighbours
	for from, done := graph.VertexID(0), false; !done; {
		ids := make([]graph.VertexID, 0, graph.BatchSize)
		var err error
		if ids, from, done, err = c.tx.Scan(ctx, 0, from, ids); err != nil {
			return err
		}
		for len(ids) > 0 {
			if err := c.tx.Expand(ctx, &shard.Expand{Sources: ids, Types: c.d.Types, Edges: true, MaxEdges: graph.BatchSize}, &res); err != nil {
				return err
			}
			var owners []graph.IndexOwner
			for i := range res.Done {
				for k := res.Offsets[i]; k < res.Offsets[i+1]; k++ {
					owners = append(owners, index.EdgeOwner(graph.Edge{ID: res.Edges[k], Src: ids[i], Dst: res.Targets[k]}))
				}
			}
			if err := c.compare(ctx, owners); err != nil {
				return err
			}
			ids = ids[res.Done:]
		}
	}
	return nil
}

// surplus looks for documents in the index that have no owner.
func (c *textCheck) surplus(ctx context.Context) error {
	var owners []graph.IndexOwner
	flush := func() error {
		docs, _, err := c.of.docs(ctx, c.tx, c.d, owners)
		if err != nil {
			return err
		}
		has := map[graph.IndexOwner]bool{}
		for i := range docs {
			has[docOwner(docs[i].ID)] = true
		}
		for _, o := range owners {
			if !has[o] && !c.skip[o] {
				c.note(o, "a document without the text")
			}
		}
		owners = owners[:0]
		return nil
	}
	err := c.main.EachID(func(id search.ID) error {
		if len(id) != 8 && len(id) != 28 {
			return graph.CorruptError("read a full-text index", nil)
		}
		if owners = append(owners, docOwner(id)); len(owners) == textDocs {
			return flush()
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	return err
}
