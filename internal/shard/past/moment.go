package past

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
)

// moment is what a graph was at a commit, as far as later commits have changed it.
type moment struct {
	number uint64

	extending chan struct{} // holds a token while the moment is extended
	users     int           // transactions; guarded by the History
	used      uint64        // the History's clock when it was read last
	counts    atomic.Pointer[graph.Counts]

	mu sync.RWMutex // guards what follows
	// covered is the last commit whose changes the moment has.
	covered  uint64
	vertices places // in vs
	edges    places // in es
	out, in  places // the first edge of a chain, by its source and its target
	vs       []vertex
	es       []edge
	bytes    int
	// sets, moved, props and types sum up what was changed: the label sets of the vertices that were; those that vertices entered or left; their
	// properties; the types of edges. present says that vertices were created or deleted.
	sets, moved map[graph.LabelSet]bool
	props       map[graph.PropID]bool
	types       map[graph.TypeID]bool
	present     bool

	derived struct {
		sync.Mutex
		order   *order
		entries map[graph.IndexID]*entries
		texts   map[graph.IndexID]*textIndex
	}
}

// vertex is what a vertex was at the moment.
type vertex struct {
	id graph.VertexID
	// labels is 0 if it was not there.
	labels graph.LabelSet
	state
}

// edge is what an edge was at the moment.
type edge struct {
	graph.Edge
	// created and deleted are the later commits that did so, or 0.
	created, deleted uint64
	// next are the numbers of the next edges of the source and the target, or -1.
	next [2]int32
	state
}

// state is what is known of properties: all if full, else those that have changed since. They are in order, are never modified, and have nulls.
type state struct {
	full  bool
	props []graph.Property
}

func newMoment(number uint64) *moment {
	m := &moment{number: number, covered: number, extending: make(chan struct{}, 1)}
	m.sets, m.moved = map[graph.LabelSet]bool{}, map[graph.LabelSet]bool{}
	m.props, m.types = map[graph.PropID]bool{}, map[graph.TypeID]bool{}
	m.derived.entries, m.derived.texts = map[graph.IndexID]*entries{}, map[graph.IndexID]*textIndex{}
	return m
}

// was reports whether the edge was there at the moment.
func (e *edge) was() bool { return e.created == 0 }

// is reports whether the edge is there at a later commit.
func (e *edge) is(at uint64) bool { return e.created <= at && (e.deleted == 0 || e.deleted > at) }

// find returns the value of a property; ok is false if it is that of the present.
func (s *state) find(prop graph.PropID) (v graph.Value, ok bool) {
	for i := range s.props {
		if s.props[i].ID == prop {
			return s.props[i].Value, true
		}
	}
	return v, s.full
}

// over returns the properties of the moment, in order and without nulls, where present ones are known.
func (s *state) over(present []graph.Property) []graph.Property {
	var out []graph.Property
	take := func(p graph.Property) {
		if !p.Value.IsNull() {
			out = append(out, p)
		}
	}
	if s.full {
		present = nil
	}
	own := s.props
	for len(present) > 0 || len(own) > 0 {
		switch {
		case len(own) == 0 || len(present) > 0 && present[0].ID < own[0].ID:
			take(present[0])
			present = present[1:]
		case len(present) > 0 && present[0].ID == own[0].ID:
			present = present[1:]
		default:
			take(own[0])
			own = own[1:]
		}
	}
	return out
}

// Memory that an element and a property take, besides values, about.
const (
	elementBytes  = 160
	propertyBytes = 16
)

// learn adds what a change says of the time before it, and returns the bytes that it takes.
func (s *state) learn(before []graph.Property, full bool) (bytes int) {
	if s.full {
		return 0
	}
	var props []graph.Property
	for _, p := range before {
		if _, ok := s.find(p.ID); !ok {
			props = append(props, graph.Property{ID: p.ID, Value: p.Value.Clone()})
			bytes += propertyBytes + memory.ValueSize(p.Value)
		}
	}
	if len(props) > 0 {
		if len(s.props) > 0 {
			props = append(props, s.props...)
			slices.SortFunc(props, func(a, b graph.Property) int { return cmp.Compare(a.ID, b.ID) })
		}
		s.props = props
	}
	s.full = full
	return bytes
}

// undo adds a change of a later commit; those before it were added already. The caller holds the lock.
func (m *moment) undo(c *changelog.Change, commit uint64) {
	full := c.Full || c.Op != changelog.Changed
	if c.IsEdge {
		m.undoEdge(c, commit, full)
		return
	}
	was, is := max(c.Before.Labels, graph.NoLabels), max(c.After.Labels, graph.NoLabels)
	switch c.Op {
	case changelog.Created:
		was = 0
	case changelog.Deleted:
		is = 0
	}
	for _, set := range [...]graph.LabelSet{was, is} {
		if set != 0 {
			m.sets[set] = true
			if was != is {
				m.moved[set] = true
			}
		}
	}
	m.present = m.present || was == 0 || is == 0
	for i := range c.Before.Props {
		m.props[c.Before.Props[i].ID] = true
	}
	at := m.vertices.get(uint64(c.Vertex))
	if at < 0 {
		at = len(m.vs)
		m.vs = append(m.vs, vertex{id: c.Vertex, labels: was})
		m.vertices.put(uint64(c.Vertex), at)
		m.bytes += elementBytes
	}
	if v := &m.vs[at]; v.labels != 0 || c.Op == changelog.Created {
		m.bytes += v.learn(c.Before.Props, full)
	}
}

func (m *moment) undoEdge(c *changelog.Change, commit uint64, full bool) {
	m.types[c.Edge.Type] = true
	at := m.edges.get(uint64(c.Edge.ID))
	if at < 0 {
		at = len(m.es)
		e := edge{Edge: c.Edge, next: [2]int32{int32(m.out.get(uint64(c.Edge.Src))), int32(m.in.get(uint64(c.Edge.Dst)))}}
		if c.Op == changelog.Created {
			e.created = commit
		}
		m.es = append(m.es, e)
		m.edges.put(uint64(c.Edge.ID), at)
		m.out.put(uint64(c.Edge.Src), at)
		m.in.put(uint64(c.Edge.Dst), at)
		m.bytes += elementBytes
	}
	e := &m.es[at]
	if c.Op == changelog.Deleted && e.deleted == 0 {
		e.deleted = commit
	}
	if e.was() || c.Op == changelog.Created {
		m.bytes += e.learn(c.Before.Props, full)
	}
}

// each calls f with the changed edges of a vertex of some types (none: all) in a direction, a loop once, until f returns false. The caller
// holds the lock.
func (m *moment) each(v graph.VertexID, types []graph.TypeID, dir graph.Direction, f func(e *edge, reverse bool) bool) {
	wanted := func(e *edge) bool { return len(types) == 0 || slices.Contains(types, e.Type) }
	if dir != graph.In {
		for i := m.out.get(uint64(v)); i >= 0; i = int(m.es[i].next[0]) {
			if e := &m.es[i]; wanted(e) && !f(e, false) {
				return
			}
		}
	}
	if dir != graph.Out {
		for i := m.in.get(uint64(v)); i >= 0; i = int(m.es[i].next[1]) {
			if e := &m.es[i]; wanted(e) && (dir == graph.In || e.Src != e.Dst) && !f(e, true) {
				return
			}
		}
	}
}

// order are the vertices of a moment that were there, ascending.
type order struct {
	covered uint64
	changed int // of moment.vs, those that the order knows
	ids     []graph.VertexID
	sets    []graph.LabelSet
}

// ordered returns the order, with what commits up to one have changed.
func (m *moment) ordered(at uint64) *order {
	d := &m.derived
	d.Lock()
	defer d.Unlock()
	if d.order != nil && d.order.covered >= at {
		return d.order
	}
	m.mu.RLock()
	some := make([]vertex, 0, len(m.vs))
	for i := range m.vs {
		if v := &m.vs[i]; v.labels != 0 {
			some = append(some, vertex{id: v.id, labels: v.labels})
		}
	}
	o := &order{covered: m.covered, changed: len(m.vs)}
	m.mu.RUnlock()
	slices.SortFunc(some, func(a, b vertex) int { return cmp.Compare(a.id, b.id) })
	for _, v := range some {
		o.ids, o.sets = append(o.ids, v.id), append(o.sets, v.labels)
	}
	d.order = o
	return o
}

// touches reports whether a label is in one of some sets; label 0 is in all.
func touches(names graph.Catalog, sets map[graph.LabelSet]bool, label graph.LabelID) bool {
	for set := range sets {
		if hasLabel(names, set, label) {
			return true
		}
	}
	return false
}

func hasLabel(names graph.Catalog, set graph.LabelSet, label graph.LabelID) bool {
	return label == 0 || slices.Contains(names.Labels(set), label)
}

// edgeOwner is an edge as the owner of an entry.
func edgeOwner(e graph.Edge) graph.IndexOwner {
	return graph.IndexOwner{Vertex: e.Src, Dst: e.Dst, Edge: e.ID, IsEdge: true}
}
