package loader

import (
	"context"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/shard"
)

// offline is a sink for a load into an empty graph. It applies vertices, and edges that depend on existing data, batch by batch. The
// parsers resolve all other edges, which are then sorted.
type offline struct {
	s        *Session
	l        *Loader
	sorter   shard.EdgeSorter
	ctx      context.Context // of the load; Begin is called once
	done     <-chan struct{}
	batches  chan *offlineBatch
	acks     []Ack
	mu       sync.Mutex  // guards the session's names
	ready    atomic.Bool // keys can be resolved
	complex  map[string]bool
	some     bool // a type known only from rows is complex, so all types are
	complete bool // Finish has been called
}

// offlineBatch is a batch whose groups of edges may already be resolved.
type offlineBatch struct {
	*Batch
	rows []shard.SortedRows // one for each group of edges; nil if it is not resolved
}

// NewOffline returns a sink for one load of a loader into the sorter's graph. An incomplete load leaves nothing behind.
func (p *Plan) NewOffline(l *Loader, sorter shard.EdgeSorter) Sink {
	s := &offline{l: l, sorter: sorter, batches: make(chan *offlineBatch, 8), complex: map[string]bool{}}
	actions := map[string]shard.Action{}
	for _, in := range p.inputs {
		if in.bound == nil {
			continue
		}
		for i := range in.bound.Edges {
			r := &in.bound.Edges[i]
			a := r.Action.Fixed
			simple := r.Action.Slot < 0 && (a == shard.Insert || a == shard.Upsert)
			for k := range r.Props {
				simple = simple && r.Props[k].Strategy == shard.Override
			}
			name := r.Type.Name
			if r.Type.Slot >= 0 {
				name = ""
			}
			if old, ok := actions[name]; ok && old != a {
				simple = false
			}
			actions[name] = a
			if !simple {
				s.complex[name] = true
			}
		}
	}
	// A rule that takes types from rows may use any type; together with other actions, order matters.
	if a, ok := actions[""]; ok {
		for name, b := range actions {
			s.some = s.some || a != b || s.complex[name]
		}
	}
	return s
}

// sorts reports whether the edges of a group are sorted.
func (s *offline) sorts(e *EdgeRows) bool { return !s.some && !s.complex[e.Type] }

func (s *offline) Begin(ctx context.Context, o Open) (Opened, error) {
	s.ctx, s.done = ctx, ctx.Done()
	o.Stream, o.Restart = "", false
	var err error
	s.s, err = s.l.Begin(ctx, o)
	return Opened{}, err
}

func (s *offline) Pack(b *Batch) (msg any, copied bool) {
	m := &offlineBatch{Batch: b}
	if len(b.Edges) == 0 || !s.ready.Load() {
		return m, false
	}
	if err := s.resolve(m); err != nil {
		// Applying the batch meets the same error and reports it.
		return &offlineBatch{Batch: b}, false
	}
	copied = len(b.Vertices) == 0 && !slices.Contains(m.rows, nil)
	if copied {
		// The rest of the batch must not refer to memory that is reused.
		m.Batch = &Batch{Seq: b.Seq, Mark: b.Mark}
	}
	return m, copied
}

// resolve finds the ends of the sorted edges.
func (s *offline) resolve(m *offlineBatch) error {
	m.rows = make([]shard.SortedRows, len(m.Edges))
	for i := range m.Edges {
		if !s.sorts(&m.Edges[i]) {
			continue
		}
		e, ok, err := s.named(m.Batch, i)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if m.rows[i], err = s.sorter.Resolve(&e); err != nil {
			return err
		}
	}
	return nil
}

// named resolves the names of a group of edges to numbers; ok reports whether the group is sorted.
func (s *offline) named(b *Batch, i int) (e shard.LoadEdges, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.s.names(s.ctx, []*Batch{{Edges: b.Edges[i : i+1]}}); err != nil {
		return e, false, err
	}
	if e, err = s.s.edges(&b.Edges[i]); err != nil {
		return e, false, err
	}
	return e, s.sorter.Takes(e.Type), nil
}

func (s *offline) Send(msg any) error {
	select {
	case s.batches <- msg.(*offlineBatch):
		return nil
	case <-s.done:
		return context.Cause(s.ctx)
	}
}

func (s *offline) Finish() error {
	close(s.batches)
	return nil
}

func (s *offline) Recv() (Ack, error) {
	if len(s.acks) == 0 {
		if err := s.next(); err != nil {
			return Ack{}, err
		}
	}
	a := s.acks[0]
	s.acks = s.acks[1:]
	return a, nil
}

// next applies the waiting batches: those without edges in one call, a batch with edges by itself.
func (s *offline) next() error {
	var group []*Batch
	for {
		var m *offlineBatch
		var ok bool
		if len(group) == 0 {
			select {
			case m, ok = <-s.batches:
			case <-s.done:
				return context.Cause(s.ctx)
			}
		} else {
			select {
			case m, ok = <-s.batches:
			default:
			}
		}
		switch {
		case m == nil && len(group) > 0:
			// No batch waits, or the channel is closed and the next call sees that again.
			return s.apply(group)
		case !ok:
			return s.end()
		case len(m.Edges) == 0 && m.rows == nil:
			group = append(group, m.Batch)
			continue
		}
		if len(group) > 0 {
			if err := s.apply(group); err != nil {
				return err
			}
		}
		return s.edges(m)
	}
}

func (s *offline) apply(group []*Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	acks, err := s.s.Apply(s.ctx, group)
	s.acks = append(s.acks, acks...)
	return err
}

// edges applies a batch with edges: it adds resolved edges to the sort and applies the others as usual.
func (s *offline) edges(m *offlineBatch) error {
	if !s.ready.Load() {
		if err := s.sorter.Prepare(s.ctx, s.s.spaces); err != nil {
			return err
		}
		s.ready.Store(true)
	}
	if m.rows == nil {
		if err := s.resolve(m); err != nil {
			return err
		}
	}
	rest := &Batch{Seq: m.Seq, Mark: m.Mark, Vertices: m.Vertices}
	var origin []int
	for i, rows := range m.rows {
		if rows == nil {
			rest.Edges = append(rest.Edges, m.Edges[i])
			origin = append(origin, i)
		}
	}
	ack := Ack{Seq: m.Seq}
	if rest.Rows() > 0 {
		from := len(s.acks)
		if err := s.apply([]*Batch{rest}); err != nil {
			return err
		}
		ack = s.acks[from]
		s.acks = s.acks[:from]
		for i := range ack.Rejected {
			if r := &ack.Rejected[i]; r.Edge {
				r.Group = origin[r.Group]
			}
		}
	}
	l := &shard.Load{}
	for i, rows := range m.rows {
		if rows == nil {
			continue
		}
		if err := s.sorter.Add(s.ctx, rows, l, i); err != nil {
			return err
		}
	}
	ack.Counts.Add(l.Counts)
	ack.Rejected = append(ack.Rejected, l.Rejected...)
	s.l.stats.add(l)
	s.acks = append(s.acks, ack)
	return nil
}

// end completes the graph, which corrects the counts.
func (s *offline) end() error {
	if s.complete {
		return io.EOF
	}
	s.s.Close()
	again, err := s.sorter.Finish(s.ctx)
	if err != nil {
		return err
	}
	s.complete = true
	l := &shard.Load{Counts: shard.LoadCounts{Edges: again}}
	s.l.stats.add(l)
	s.acks = append(s.acks, Ack{Counts: l.Counts})
	return nil
}
