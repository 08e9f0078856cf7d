package oracle

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/search"
	"github.com/hopgate/hopgate/internal/shard"
)

// SearchText searches an index that it makes of all vertices or edges of the state.
func (t *Tx) SearchText(ctx context.Context, req *shard.TextSearch, res *shard.TextHits) (err error) {
	res.Vertices, res.Edges, res.Scores = res.Vertices[:0], res.Edges[:0], res.Scores[:0]
	if err := t.check(ctx); err != nil {
		return err
	}
	at := slices.IndexFunc(t.state.indexes, func(x index) bool { return x.ID == req.Index && x.Kind == graph.FullTextIndex })
	if at < 0 {
		return misuse("there is no such full-text index")
	}
	if req.Await {
		return nil
	}
	x := &t.state.indexes[at]
	a, err := search.FindAnalyzer(x.Text.Analyzer)
	if err != nil {
		return err
	}
	r := &search.Request{Fields: x.Props, Analyzer: a, Most: req.Most, Room: req.Room}
	if r.Query, err = search.Parse(req.Query); err != nil {
		return err
	}
	if req.Analyzer != "" {
		if r.Analyzer, err = search.FindAnalyzer(req.Analyzer); err != nil {
			return err
		}
	}
	edges := map[uint64]graph.Edge{}
	all, err := search.Open("", a)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, all.Close()) }()
	if err := all.Apply(&search.Batch{Docs: t.docs(x, edges)}); err != nil {
		return err
	}
	reader, err := all.Reader()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	hits, err := search.Search(ctx, []search.Part{{Reader: reader}}, r)
	for _, h := range hits {
		id := binary.BigEndian.Uint64(h.ID)
		if x.Type != "" {
			res.Edges = append(res.Edges, edges[id])
		} else {
			res.Vertices = append(res.Vertices, graph.VertexID(id))
		}
		res.Scores = append(res.Scores, h.Score)
	}
	return err
}

// docs are the documents of an index; edges gets those that have one.
func (t *Tx) docs(x *index, edges map[uint64]graph.Edge) (docs []search.Doc) {
	add := func(id uint64, props []graph.Property) bool {
		d := search.Doc{ID: binary.BigEndian.AppendUint64(nil, id)}
		for i, v := range x.values(props) {
			var texts []string
			list := []graph.Value{v}
			if v.Kind() == graph.List {
				list = v.List()
			}
			for _, e := range list {
				if e.Kind() == graph.String {
					texts = append(texts, e.Str())
				}
			}
			if len(texts) == len(list) && len(list) > 0 {
				d.Fields = append(d.Fields, search.Field{Name: x.Props[i], Texts: texts})
			}
		}
		if len(d.Fields) > 0 {
			docs = append(docs, d)
		}
		return len(d.Fields) > 0
	}
	if x.Type != "" {
		t.state.edges(func(e *edge) {
			if slices.Contains(x.Names(), t.g.TypeName(e.Type)) && add(uint64(e.ID), e.props) {
				edges[uint64(e.ID)] = e.Edge
			}
		})
		return docs
	}
	t.state.vertices(func(id graph.VertexID, v *vertex) {
		for _, name := range x.Names() {
			if l, ok := t.g.Label(name); ok && x.sets.hasLabel(v.labels, l) {
				add(uint64(id), v.props)
				return
			}
		}
	})
	return docs
}
