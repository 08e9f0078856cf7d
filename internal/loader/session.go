package loader

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// Loader applies loads to the graphs of a store.
type Loader struct {
	store shard.Store
	stats Stats

	mu     sync.Mutex
	active map[streamKey]*Session
}

// streamKey identifies a load of a graph.
type streamKey struct{ graph, stream string }

// New returns a loader for a store.
func New(store shard.Store) *Loader {
	return &Loader{store: store, active: map[streamKey]*Session{}}
}

// take makes s the only session of its load. A session left over from a disconnected client finishes its current batch and applies no more.
func (l *Loader) take(s *Session) {
	if s.key.stream == "" {
		return
	}
	l.mu.Lock()
	old := l.active[s.key]
	l.active[s.key] = s
	l.mu.Unlock()
	if old != nil {
		old.mu.Lock()
		old.ended = true
		old.mu.Unlock()
	}
}

// leave unregisters a session.
func (l *Loader) leave(s *Session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active[s.key] == s {
		delete(l.active, s.key)
	}
}

// Open describes the load to begin.
type Open struct {
	Graph   string // "" is "default"
	Stream  string // the identity of the load; a load with "" cannot resume
	Restart bool   // discard the progress of an earlier run
	Spaces  []Space
	// Confirms means that batches set Confirmed; the session keeps refused rows until then.
	Confirms bool
	// Remember means that rows of the load leave or refuse repeated keys; see shard.Load.
	Remember bool
	// Unlogged keeps what the load changes out of the commit log.
	Unlogged bool
}

// Opened reports the progress of an earlier run of a load.
type Opened struct {
	Seq  uint64 // the last applied batch
	Mark []byte
	// Counts are of all applied batches.
	Counts shard.LoadCounts
	// Refused holds the rows refused in batches after the last confirmed one.
	Refused       []Ack
	Confirmed     uint64
	ConfirmedMark []byte
}

// Space is a set of external keys: the values of a property of a label, which get a unique constraint, or, if it names neither, keys that
// are not stored as properties. Vertices of Labels are looked up by the same property, so those labels get a plain index.
type Space struct {
	Name, Label, Property string
	Labels                []string
}

// Session is one load in progress. It belongs to one goroutine, which closes it.
type Session struct {
	l   *Loader
	key streamKey
	// mu is held while batches are applied; ended means that another session has taken over the load.
	mu    sync.Mutex
	ended bool

	stats    *Stats
	g        shard.Graph
	stream   string
	spaces   []graph.IndexID
	known    progress
	waiting  []applied // unconfirmed batches
	confirms bool
	remember bool
	unlogged bool
	run      string // names a load without a stream
	begun    bool
	// Seq is the number of the last applied batch.
	Seq uint64

	labels map[string]graph.LabelSet // by the joined names of the labels
	types  map[string]graph.TypeID
	props  map[string]graph.PropID
}

// Begin opens a load: it creates the indexes for its keys and reads the progress of an earlier run.
func (l *Loader) Begin(ctx context.Context, o Open) (_ *Session, err error) {
	name := o.Graph
	if name == "" {
		name = "default"
	}
	g, err := l.store.Graph(name)
	if err != nil {
		return nil, err
	}
	s := &Session{
		l: l, key: streamKey{name, o.Stream}, stats: &l.stats, g: g, stream: o.Stream, confirms: o.Confirms, remember: o.Remember, unlogged: o.Unlogged,
		labels: map[string]graph.LabelSet{}, types: map[string]graph.TypeID{}, props: map[string]graph.PropID{},
	}
	if s.stream == "" {
		s.run = rand.Text()
	}
	l.take(s)
	defer func() {
		if err != nil {
			l.leave(s)
		}
	}()
	if s.stream != "" {
		if o.Restart {
			if err := g.Load(ctx, &shard.Load{Stream: s.stream, Restart: true}); err != nil {
				return nil, err
			}
		} else if err := s.resume(ctx); err != nil {
			return nil, err
		}
	}
	for i := range o.Spaces {
		id, err := openSpace(ctx, g, &o.Spaces[i])
		if err != nil {
			return nil, err
		}
		s.spaces = append(s.spaces, id)
	}
	l.stats.Loads.Add(1)
	l.stats.Running.Add(1)
	return s, nil
}

// resume reads the progress of an earlier run.
func (s *Session) resume(ctx context.Context) error {
	seq, mark, err := s.g.LoadState(ctx, s.stream)
	if err != nil || seq == 0 {
		return err
	}
	s.Seq = seq
	if s.known, err = decodeProgress(mark); err != nil {
		return err
	}
	s.waiting = []applied{{seq, s.known.mark}}
	return nil
}

// Opened returns the progress of an earlier run. Call it before the first Apply.
func (s *Session) Opened() Opened {
	return Opened{
		Seq: s.Seq, Mark: s.known.mark, Counts: s.known.counts, Refused: s.known.refused, Confirmed: s.known.confirmed, ConfirmedMark: s.known.confirmedMark,
	}
}

// Forget discards the progress of the load, which is complete: the same batches would be applied again.
func (s *Session) Forget(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return graph.LoadTakenOver()
	}
	return s.g.Load(ctx, &shard.Load{Stream: s.stream, Restart: true})
}

// Close ends the session. Applied batches stay.
func (s *Session) Close() {
	s.stats.Running.Add(-1)
	s.l.leave(s)
}

// spaceIndex names the index of a space whose keys are not a property.
func spaceIndex(space string) string { return "space_" + space }

// openSpace finds or creates the index of an id space and the look-up indexes beside it.
func openSpace(ctx context.Context, g shard.Graph, sp *Space) (graph.IndexID, error) {
	want := graph.Index{Name: spaceIndex(sp.Name), Unique: true, Indexed: true}
	if sp.Label != "" {
		want = graph.Index{
			Name: "constraint_" + sp.Label + "_" + sp.Property, Label: sp.Label, Props: []string{sp.Property}, Unique: true, Indexed: true,
		}
	}
	id, err := ensureIndex(ctx, g, &want)
	if err != nil {
		return 0, fmt.Errorf("id space %s: %w", sp.Name, err)
	}
	for _, label := range sp.Labels {
		ix := graph.Index{Name: "index_" + label + "_" + sp.Property, Label: label, Props: []string{sp.Property}, Indexed: true}
		if _, err := ensureIndex(ctx, g, &ix); err != nil {
			return 0, fmt.Errorf("id space %s: %w", sp.Name, err)
		}
	}
	return id, nil
}

func ensureIndex(ctx context.Context, g shard.Graph, want *graph.Index) (graph.IndexID, error) {
	find := func() graph.IndexID {
		for _, ix := range g.Indexes() {
			if ix.Ordered() && ix.Label == want.Label && ix.Type == want.Type && slices.Equal(ix.Props, want.Props) &&
				(ix.Unique || !want.Unique) && (len(want.Props) > 0 || ix.Name == want.Name) {
				return ix.ID
			}
		}
		return 0
	}
	if id := find(); id != 0 {
		return id, nil
	}
	if err := g.CreateIndex(ctx, *want); err != nil {
		var e *graph.Error
		if !errors.As(err, &e) || e.Kind != graph.KindExists {
			return 0, err
		}
		if id := find(); id == 0 {
			return 0, err
		}
	}
	return find(), nil
}

// Batch is a set of rows that refer to labels, types and properties by name. Space numbers are positions in Open.Spaces.
type Batch struct {
	Seq  uint64
	Mark []byte
	// Confirmed is the last batch whose refused rows the client has written.
	Confirmed uint64
	Vertices  []VertexRows
	Edges     []EdgeRows
}

// VertexRows are the columns of vertices with one set of labels.
type VertexRows struct {
	Labels []string
	Space  int
	Keys   []graph.Value
	Props  []PropertyColumn
	Action shard.Action
	// OnDuplicate decides about a row whose vertex an earlier row of the load has written.
	OnDuplicate shard.OnDuplicate
}

// EdgeRows are the columns of edges of one type.
type EdgeRows struct {
	Type               string
	SrcSpace, DstSpace int
	Src, Dst           []graph.Value
	Props              []PropertyColumn
	Action             shard.Action
	Dangling           shard.Dangling
}

// PropertyColumn holds one property of all rows.
type PropertyColumn struct {
	Name     string
	Values   []graph.Value
	Strategy shard.Strategy
}

// Rows returns the number of rows of a batch.
func (b *Batch) Rows() int {
	n := 0
	for i := range b.Vertices {
		n += len(b.Vertices[i].Keys)
	}
	for i := range b.Edges {
		n += len(b.Edges[i].Src)
	}
	return n
}

// Ack reports the outcome of a batch.
type Ack struct {
	Seq      uint64
	Counts   shard.LoadCounts
	Rejected []shard.Rejected
	// Resolve is the time spent looking up keys, Commit the rest of the time until the batches were durable.
	Resolve, Commit time.Duration
}

// Apply makes batches durable and visible in one commit, each exactly once, and returns an Ack for each. The last Ack holds the counts of
// written rows and the times.
func (s *Session) Apply(ctx context.Context, batches []*Batch) ([]Ack, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, graph.LoadTakenOver()
	}
	load := &shard.Load{Stream: s.stream, Run: s.run, Restart: s.run != "" && !s.begun, Remember: s.remember, Unlogged: s.unlogged}
	if err := s.names(ctx, batches); err != nil {
		return nil, err
	}
	confirmed := uint64(0)
	if !s.confirms {
		confirmed = s.Seq
	}
	var vertices, edges []origin
	var pending []int // batches that are not skipped
	for i, b := range batches {
		load.Seq, load.Mark = b.Seq, b.Mark
		confirmed = max(confirmed, b.Confirmed)
		if s.stream != "" && b.Seq <= s.Seq {
			continue // an earlier run has applied it
		}
		pending = append(pending, i)
		for j := range b.Vertices {
			v, err := s.vertices(&b.Vertices[j])
			if err != nil {
				return nil, err
			}
			load.Vertices = append(load.Vertices, v)
			vertices = append(vertices, origin{b.Seq, j})
		}
		for j := range b.Edges {
			e, err := s.edges(&b.Edges[j])
			if err != nil {
				return nil, err
			}
			load.Edges = append(load.Edges, e)
			edges = append(edges, origin{b.Seq, j})
		}
	}
	if s.stream != "" {
		s.confirm(confirmed)
		s.known.mark, s.known.vertices, s.known.edges = load.Mark, vertices, edges
		load.Mark = s.known.encode()
	}
	start := time.Now()
	err := s.g.Load(ctx, load)
	took := time.Since(start)
	s.stats.Nanos.Add(uint64(took))
	if err != nil {
		s.stats.Failed.Add(1)
		return nil, err
	}
	s.begun = true
	s.stats.Batches.Add(uint64(len(batches)))
	s.stats.add(load)
	s.known.counts.Add(load.Counts)
	s.Seq = max(s.Seq, load.Seq)
	acks := make([]Ack, len(batches))
	for i, b := range batches {
		acks[i].Seq = b.Seq
	}
	last := &acks[len(acks)-1]
	last.Counts = load.Counts
	last.Resolve, last.Commit = load.Resolve, took-load.Resolve
	at := map[uint64]int{}
	for _, i := range pending {
		at[batches[i].Seq] = i
	}
	for _, r := range load.Rejected {
		groups := vertices
		if r.Edge {
			groups = edges
		}
		o := groups[r.Group]
		r.Group = o.group
		a := &acks[at[o.seq]]
		a.Rejected = append(a.Rejected, r)
	}
	if s.stream != "" {
		for _, i := range pending {
			s.note(batches[i], &acks[i])
		}
	}
	return acks, nil
}

// names resolves names that the session has not met yet.
func (s *Session) names(ctx context.Context, batches []*Batch) error {
	var tx shard.Tx
	defer func() {
		if tx != nil {
			tx.Rollback()
		}
	}()
	begin := func() (err error) {
		if tx == nil {
			tx, err = s.g.Begin(ctx, shard.Write)
		}
		return err
	}
	props := func(ps []PropertyColumn) error {
		for i := range ps {
			if _, ok := s.props[ps[i].Name]; ok {
				continue
			}
			if err := begin(); err != nil {
				return err
			}
			id, err := tx.Prop(ps[i].Name)
			if err != nil {
				return err
			}
			s.props[ps[i].Name] = id
		}
		return nil
	}
	for _, b := range batches {
		for i := range b.Vertices {
			v := &b.Vertices[i]
			if _, ok := s.labels[labelKey(v.Labels)]; !ok {
				if err := begin(); err != nil {
					return err
				}
				if err := s.labelSet(tx, v.Labels); err != nil {
					return err
				}
			}
			if err := props(v.Props); err != nil {
				return err
			}
		}
		for i := range b.Edges {
			e := &b.Edges[i]
			if _, ok := s.types[e.Type]; !ok {
				if err := begin(); err != nil {
					return err
				}
				id, err := tx.Type(e.Type)
				if err != nil {
					return err
				}
				s.types[e.Type] = id
			}
			if err := props(e.Props); err != nil {
				return err
			}
		}
	}
	return nil
}

func labelKey(labels []string) string { return strings.Join(labels, "\x00") }

func (s *Session) labelSet(tx shard.Tx, labels []string) error {
	ids := make([]graph.LabelID, len(labels))
	for i, l := range labels {
		id, err := tx.Label(l)
		if err != nil {
			return err
		}
		ids[i] = id
	}
	set, err := tx.LabelSet(ids)
	if err == nil {
		s.labels[labelKey(labels)] = set
	}
	return err
}

func (s *Session) space(i int) (graph.IndexID, error) {
	if i < 0 || i >= len(s.spaces) {
		return 0, graph.LoadError("NoSuchSpace", "id space %d was not opened", i)
	}
	return s.spaces[i], nil
}

func (s *Session) vertices(v *VertexRows) (shard.LoadVertices, error) {
	space, err := s.space(v.Space)
	if err != nil {
		return shard.LoadVertices{}, err
	}
	props, err := s.columns(v.Props, len(v.Keys))
	return shard.LoadVertices{
		Labels: s.labels[labelKey(v.Labels)], Space: space, Keys: v.Keys, Props: props, Action: v.Action, OnDuplicate: v.OnDuplicate,
	}, err
}

func (s *Session) edges(e *EdgeRows) (shard.LoadEdges, error) {
	src, err := s.space(e.SrcSpace)
	if err != nil {
		return shard.LoadEdges{}, err
	}
	dst, err := s.space(e.DstSpace)
	if err != nil {
		return shard.LoadEdges{}, err
	}
	if len(e.Dst) != len(e.Src) {
		return shard.LoadEdges{}, ragged(len(e.Src), len(e.Dst))
	}
	props, err := s.columns(e.Props, len(e.Src))
	return shard.LoadEdges{
		Type: s.types[e.Type], SrcSpace: src, DstSpace: dst, Src: e.Src, Dst: e.Dst, Props: props, Action: e.Action, Dangling: e.Dangling,
	}, err
}

func (s *Session) columns(ps []PropertyColumn, rows int) ([]shard.LoadColumn, error) {
	out := make([]shard.LoadColumn, len(ps))
	for i := range ps {
		if len(ps[i].Values) != rows {
			return nil, ragged(rows, len(ps[i].Values))
		}
		out[i] = shard.LoadColumn{Prop: s.props[ps[i].Name], Values: ps[i].Values, Strategy: ps[i].Strategy}
	}
	return out, nil
}

func ragged(rows, got int) error {
	return graph.LoadError("RaggedColumns", "a column has %d cells where the batch has %d rows", got, rows)
}
