package past

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/search"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/text"
)

// texts searches full-text indexes: as they are where no later commit has changed what they cover, else by a search over all texts of the
// moment, with the analyzer and the scores of an index that is made afresh.
type texts struct {
	r  *reader
	of shard.TextSearcher
}

// textIndex has the texts of a moment, in memory. What a moment has never changes, so neither does it.
type textIndex struct {
	making chan struct{} // holds a token while the index is made
	index  *search.Index // nil until it is made
}

// SearchText implements shard.TextSearcher.
func (s *texts) SearchText(ctx context.Context, req *shard.TextSearch, res *shard.TextHits) error {
	if req.Await {
		return s.of.SearchText(ctx, req, res)
	}
	ix, err := s.r.index(req.Index)
	if err != nil {
		return err
	}
	for _, name := range ix.Names() {
		if l, ok := s.r.names.Label(name); ok && ix.Label != "" && s.r.changed(l) {
			return s.exact(ctx, ix, req, res)
		}
		if t, ok := s.r.names.Type(name); ok && ix.Type != "" && s.r.changedEdges(t) {
			return s.exact(ctx, ix, req, res)
		}
	}
	return s.of.SearchText(ctx, req, res)
}

// exact searches the texts of the moment.
func (s *texts) exact(ctx context.Context, ix *graph.Index, req *shard.TextSearch, res *shard.TextHits) (err error) {
	res.Vertices, res.Edges, res.Scores = res.Vertices[:0], res.Edges[:0], res.Scores[:0]
	r := &search.Request{Fields: ix.Props, Most: req.Most, Room: req.Room}
	if r.Query, err = search.Parse(req.Query); err != nil {
		return err
	}
	own, err := search.FindAnalyzer(ix.Text.Analyzer)
	if err != nil {
		return err
	}
	if r.Analyzer = own; req.Analyzer != "" {
		if r.Analyzer, err = search.FindAnalyzer(req.Analyzer); err != nil {
			return err
		}
	}
	t, err := s.made(ctx, ix, own, req.Room)
	if err != nil {
		return err
	}
	reader, err := t.Reader()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	hits, err := search.Search(ctx, []search.Part{{Reader: reader}}, r)
	if err != nil {
		return err
	}
	for _, h := range hits {
		if ix.Type == "" {
			res.Vertices = append(res.Vertices, graph.VertexID(binary.BigEndian.Uint64(h.ID)))
		} else {
			e, _ := text.DocEdge(h.ID)
			res.Edges = append(res.Edges, e)
		}
		res.Scores = append(res.Scores, h.Score)
	}
	return nil
}

// made returns the texts of an index at the moment, which the moment keeps if the history has room for them.
func (s *texts) made(ctx context.Context, ix *graph.Index, a *search.Analyzer, room func(bytes int) error) (*search.Index, error) {
	d := &s.r.m.derived
	d.Lock()
	t := d.texts[ix.ID]
	if t == nil {
		t = &textIndex{making: make(chan struct{}, 1)}
		d.texts[ix.ID] = t
	}
	d.Unlock()
	select {
	case t.making <- struct{}{}:
	case <-ctx.Done():
		return nil, graph.DeadlineError(ctx.Err())
	}
	defer func() { <-t.making }()
	if t.index != nil {
		return t.index, nil
	}
	x, err := search.Open("", a)
	if err != nil {
		return nil, err
	}
	m := making{r: s.r, ix: ix, into: x, room: room}
	if err := m.all(ctx); err != nil {
		return nil, err
	}
	if s.r.h.keep(s.r.m, m.bytes) {
		t.index = x
	}
	return x, nil
}

// making puts all texts that a full-text index covers at a moment into an index.
type making struct {
	r     *reader
	ix    *graph.Index
	into  *search.Index
	room  func(bytes int) error
	props []graph.PropID
	bytes int
}

func (m *making) all(ctx context.Context) error {
	for _, name := range m.ix.Props {
		p, _ := m.r.names.Prop(name)
		m.props = append(m.props, p)
	}
	if m.ix.Type != "" {
		return m.edges(ctx)
	}
	var seen []graph.LabelID // whose vertices are in the index
	for _, name := range m.ix.Names() {
		l, ok := m.r.names.Label(name)
		if !ok {
			continue
		}
		if err := m.vertices(ctx, l, seen); err != nil {
			return err
		}
		seen = append(seen, l)
	}
	return nil
}

// vertices adds those with a label that have none of some others.
func (m *making) vertices(ctx context.Context, label graph.LabelID, seen []graph.LabelID) (err error) {
	ids := make([]graph.VertexID, 0, graph.BatchSize)
	sets := make([]graph.LabelSet, graph.BatchSize)
	for from, done := graph.VertexID(0), false; !done; {
		if ids, from, done, err = m.r.Scan(ctx, label, from, ids[:0]); err != nil {
			return err
		}
		if len(seen) > 0 {
			sets = sets[:len(ids)]
			if err := m.r.LabelSets(ctx, ids, sets); err != nil {
				return err
			}
			n := 0
			for i, id := range ids {
				if !slices.ContainsFunc(seen, func(l graph.LabelID) bool { return hasLabel(m.r.names, sets[i], l) }) {
					ids[n] = id
					n++
				}
			}
			ids = ids[:n]
		}
		cols := shard.Columns(len(m.props), len(ids))
		if err := m.r.Properties(ctx, ids, m.props, cols); err != nil {
			return err
		}
		if err := m.add(len(ids), cols, func(i int) search.ID { return binary.BigEndian.AppendUint64(nil, uint64(ids[i])) }); err != nil {
			return err
		}
	}
	return nil
}

// edges adds those of the types.
func (m *making) edges(ctx context.Context) (err error) {
	req := shard.Expand{Dir: graph.Out, Edges: true, Props: m.props, MaxEdges: manyEdges}
	for _, name := range m.ix.Names() {
		if t, ok := m.r.names.Type(name); ok {
			req.Types = append(req.Types, t)
		}
	}
	if len(req.Types) == 0 {
		return nil
	}
	var res shard.Neighbours
	ids := make([]graph.VertexID, 0, graph.BatchSize)
	for from, done := graph.VertexID(0), false; !done; {
		if ids, from, done, err = m.r.Scan(ctx, 0, from, ids[:0]); err != nil {
			return err
		}
		for req.Sources = ids; len(req.Sources) > 0; req.Sources = req.Sources[res.Done:] {
			if err := m.r.Expand(ctx, &req, &res); err != nil {
				return err
			}
			sources := make([]graph.VertexID, 0, len(res.Targets))
			for i := range res.Done {
				for range res.Offsets[i+1] - res.Offsets[i] {
					sources = append(sources, req.Sources[i])
				}
			}
			if err := m.add(len(res.Targets), res.Props, func(i int) search.ID {
				return text.EdgeDoc(graph.Edge{ID: res.Edges[i], Type: res.Types[i], Src: sources[i], Dst: res.Targets[i]})
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// docBytes is about what a document takes in memory besides its texts.
const docBytes = 256

// add adds documents by their columns.
func (m *making) add(n int, cols [][]graph.Value, id func(i int) search.ID) error {
	var docs []search.Doc
	vals := make([]graph.Value, len(cols))
	bytes := 0
	for i := range n {
		for p := range cols {
			vals[p] = cols[p][i]
		}
		if fields := text.Fields(m.ix.Props, vals); len(fields) > 0 {
			docs = append(docs, search.Doc{ID: id(i), Fields: fields})
			bytes += text.Growth*text.Bytes(&docs[len(docs)-1]) + docBytes
		}
	}
	if len(docs) == 0 {
		return nil
	}
	if m.room != nil {
		if err := m.room(bytes); err != nil {
			return err
		}
	}
	m.bytes += bytes
	return m.into.Apply(&search.Batch{Docs: docs})
}
