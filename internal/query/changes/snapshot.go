package changes

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/token"
	"github.com/hopgate/hopgate/internal/shard"
)

// The sizes of requests for the elements of a graph.
const (
	copyVertices = 512
	copyEdges    = 4096
)

// copying gives the vertices of a snapshot, and then its edges.
type copying struct {
	s        *Stream
	tx       shard.Tx
	position token.Token // within the copy
	as       *transaction

	from     graph.VertexID
	scanned  bool // all vertices have been
	edges    bool // the edges come now
	ids      []graph.VertexID
	sources  []graph.VertexID // of ids, those whose edges have not been read
	hops     shard.Neighbours
	seq      int64
	ready    []Event // of which none is the last, unless the copy has ended
	finished bool    // Next has returned all
}

// beginCopy begins a stream with the graph as it is now.
func (s *Stream) beginCopy(ctx context.Context) error {
	tx, err := s.g.Begin(ctx, shard.Read)
	if err != nil {
		return err
	}
	f := tx.Features()
	if f.Commits == nil {
		err = shard.LogOff(s.database)
	} else if f.Validator != nil {
		err = f.Validator.Check(ctx)
	}
	if err != nil {
		tx.Rollback()
		return err
	}
	if f.Passer != nil {
		f.Passer.Pass()
	}
	number, time := f.Commits.Position()
	s.after = token.Token{Commit: number, Time: time}
	c := &copying{s: s, tx: tx, position: s.after, as: &transaction{s: s, started: time, commit: time, full: true}, ids: make([]graph.VertexID, 0, copyVertices)}
	c.position.Copy = true
	s.copy = c
	return nil
}

// nextOfCopy returns the next elements of the copy in s.events. done reports that it has ended, and the log continues.
func (s *Stream) nextOfCopy(ctx context.Context, most int) (done bool, err error) {
	c := s.copy
	for !c.finished && len(c.ready) <= most {
		more, err := c.read(ctx)
		if err != nil {
			return false, err
		}
		if !more {
			break
		}
	}
	if c.finished || len(c.ready) == 0 {
		s.Close()
		return true, nil
	}
	n := min(len(c.ready), most)
	s.events = append(s.events, c.ready[:n]...)
	c.ready = append(c.ready[:0], c.ready[n:]...)
	last := &s.events[n-1]
	if c.position = last.at; len(c.ready) == 0 { // read has ended
		last.Last, last.at, c.finished = true, s.after, true
	}
	return false, nil
}

// read reads some elements; false if there are no more.
func (c *copying) read(ctx context.Context) (bool, error) {
	if c.edges && len(c.sources) > 0 {
		return true, c.readEdges(ctx)
	}
	if c.scanned {
		if c.edges {
			return false, nil
		}
		c.edges, c.scanned, c.from = true, false, 0
	}
	var err error
	if c.ids, c.from, c.scanned, err = c.tx.Scan(ctx, 0, c.from, c.ids[:0]); err != nil || len(c.ids) == 0 {
		return true, err
	}
	if c.edges {
		c.sources = c.ids
		return true, nil
	}
	return true, c.readVertices(ctx)
}

func (c *copying) readVertices(ctx context.Context) error {
	records := make([]shard.Record, len(c.ids))
	if err := c.tx.Records(ctx, c.ids, records); err != nil {
		return err
	}
	for i, v := range c.ids {
		r := &records[i]
		c.add(changelog.Change{
			Vertex: v, After: changelog.State{Labels: r.Labels, Props: r.Props}, Keys: keysOf(c.s.names.set(r.Labels).keys, r.Props),
		})
	}
	return nil
}

func (c *copying) readEdges(ctx context.Context) error {
	req := shard.Expand{Sources: c.sources, Dir: graph.Out, Edges: true, MaxEdges: copyEdges}
	if err := c.tx.Expand(ctx, &req, &c.hops); err != nil {
		return err
	}
	h := &c.hops
	edges := make([]graph.Edge, 0, len(h.Targets))
	for i, src := range c.sources[:h.Done] {
		for k := h.Offsets[i]; k < h.Offsets[i+1]; k++ {
			edges = append(edges, graph.Edge{ID: h.Edges[k], Src: src, Dst: h.Targets[k], Type: h.Types[k]})
		}
	}
	c.sources = c.sources[h.Done:]
	if len(edges) == 0 {
		return nil
	}
	records := make([]shard.Record, len(edges))
	if err := c.tx.EdgeRecords(ctx, edges, records); err != nil {
		return err
	}
	starts, err := c.ends(ctx, edges, func(e *graph.Edge) graph.VertexID { return e.Src })
	if err != nil {
		return err
	}
	ends, err := c.ends(ctx, edges, func(e *graph.Edge) graph.VertexID { return e.Dst })
	if err != nil {
		return err
	}
	for i, e := range edges {
		props := records[i].Props
		c.add(changelog.Change{
			IsEdge: true, Edge: e, After: changelog.State{Props: props}, Keys: keysOf(c.s.names.edgeType(e.Type).keys, props), Src: starts[i], Dst: ends[i],
		})
	}
	return nil
}

// ends returns what the log would have of the sources, or targets, of edges.
func (c *copying) ends(ctx context.Context, edges []graph.Edge, of func(*graph.Edge) graph.VertexID) ([]changelog.End, error) {
	ids := make([]graph.VertexID, len(edges))
	for i := range edges {
		ids[i] = of(&edges[i])
	}
	labels := make([]graph.LabelSet, len(ids))
	if err := c.tx.LabelSets(ctx, ids, labels); err != nil {
		return nil, err
	}
	var props []graph.PropID
	for _, k := range c.s.names.keys(func(ix *graph.Index) bool { return ix.Label != "" }) {
		for _, p := range k.props {
			if !slices.Contains(props, p) {
				props = append(props, p)
			}
		}
	}
	slices.Sort(props)
	values := make([][]graph.Value, len(props))
	for p := range values {
		values[p] = make([]graph.Value, len(ids))
	}
	if len(props) > 0 {
		if err := c.tx.Properties(ctx, ids, props, values); err != nil {
			return nil, err
		}
	}
	out := make([]changelog.End, len(ids))
	var all []graph.Property
	for i := range out {
		all = all[:0]
		for p, id := range props {
			all = append(all, graph.Property{ID: id, Value: values[p][i]})
		}
		out[i] = changelog.End{Labels: labels[i], Keys: keysOf(c.s.names.set(labels[i]).keys, all)}
	}
	return out, nil
}

// keysOf returns those properties that keys are made of.
func keysOf(keys []keyNames, props []graph.Property) (out []graph.Property) {
	if len(keys) == 0 {
		return nil
	}
	for _, p := range props {
		if !p.Value.IsNull() && slices.ContainsFunc(keys, func(k keyNames) bool { return slices.Contains(k.props, p.ID) }) {
			out = append(out, p)
		}
	}
	return out
}

// add adds an element, if a selector takes it.
func (c *copying) add(ch changelog.Change) {
	ch.Op, ch.Full = changelog.Created, true
	e := Event{Seq: c.seq, Op: Read, Change: ch, tx: c.as, at: c.position}
	c.seq++
	e.at.Event = uint64(c.seq)
	if c.s.selectors.take(&e) {
		c.ready = append(c.ready, e)
	}
}
