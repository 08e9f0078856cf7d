package oracle

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
)

// state is a whole graph at one moment. A committed state is immutable: a write transaction works on a clone. Vertices, edges and the
// slices in the maps are replaced, never modified, so clones share them.
type state struct {
	parts   []part
	created uint64 // vertices ever created, to distribute them over the shards
	indexes []index
	entries map[graph.IndexID]map[string][]graph.VertexID
	streams map[string]stream
	counts  atomic.Pointer[graph.Counts] // set by the first request
}

// part holds the vertices and edges of one shard by local id; deleted ones are nil.
type part struct {
	vertices []*vertex
	edges    []*edge
	out, in  [][]graph.EdgeID // by local vertex id, in order of creation
}

type vertex struct {
	labels graph.LabelSet
	props  []graph.Property // sorted by id
	spaces []spaceKey
}

// spaceKey is the key of a vertex in a bare id space.
type spaceKey struct {
	space graph.IndexID
	key   string
}

type edge struct {
	graph.Edge
	props []graph.Property // sorted by id
}

// index is an index with its names resolved.
type index struct {
	graph.Index
	sets  labelSets
	label graph.LabelID
	typ   graph.TypeID
	props []graph.PropID
}

// bare reports whether the index is an id space whose keys only loads know.
func (x *index) bare() bool { return x.Label == "" && x.Type == "" }

// stream is the progress of a load.
type stream struct {
	seq  uint64
	mark []byte
	// written are the vertices that its rows have written.
	written map[graph.VertexID]bool
	// remembers means that a restart does not forget them; forgotten, that one has.
	remembers, forgotten bool
}

func newState(shards int) *state {
	return &state{
		parts:   make([]part, shards),
		entries: map[graph.IndexID]map[string][]graph.VertexID{},
		streams: map[string]stream{},
	}
}

func (s *state) clone() *state {
	c := &state{
		parts:   make([]part, len(s.parts)),
		created: s.created,
		indexes: slices.Clone(s.indexes),
		entries: make(map[graph.IndexID]map[string][]graph.VertexID, len(s.entries)),
		streams: maps.Clone(s.streams),
	}
	for i, p := range s.parts {
		c.parts[i] = part{
			vertices: slices.Clone(p.vertices), edges: slices.Clone(p.edges), out: slices.Clone(p.out), in: slices.Clone(p.in),
		}
	}
	for id, m := range s.entries {
		c.entries[id] = maps.Clone(m)
	}
	return c
}

// vertex returns a vertex, or nil.
func (s *state) vertex(id graph.VertexID) *vertex {
	if id.Shard() >= len(s.parts) || id.Local() >= uint64(len(s.parts[id.Shard()].vertices)) {
		return nil
	}
	return s.parts[id.Shard()].vertices[id.Local()]
}

// edge returns an edge, or nil.
func (s *state) edge(id graph.EdgeID) *edge {
	if id.Shard() >= len(s.parts) || id.Local() >= uint64(len(s.parts[id.Shard()].edges)) {
		return nil
	}
	return s.parts[id.Shard()].edges[id.Local()]
}

// incident returns the outgoing (or incoming) edges of a vertex, which may exist although the vertex is deleted.
func (s *state) incident(id graph.VertexID, in bool) []graph.EdgeID {
	if id.Shard() >= len(s.parts) || id.Local() >= uint64(len(s.parts[id.Shard()].vertices)) {
		return nil
	}
	if in {
		return s.parts[id.Shard()].in[id.Local()]
	}
	return s.parts[id.Shard()].out[id.Local()]
}

func (s *state) addVertex(v *vertex) graph.VertexID {
	n := int(s.created % uint64(len(s.parts)))
	s.created++
	p := &s.parts[n]
	id := graph.MakeVertexID(n, uint64(len(p.vertices)))
	p.vertices = append(p.vertices, nil)
	p.out = append(p.out, nil)
	p.in = append(p.in, nil)
	s.putVertex(id, v)
	return id
}

// putVertex replaces a vertex and updates the index entries; nil deletes it.
func (s *state) putVertex(id graph.VertexID, v *vertex) {
	old := s.vertex(id)
	s.parts[id.Shard()].vertices[id.Local()] = v
	for i := range s.indexes {
		x := &s.indexes[i]
		if x.bare() {
			continue
		}
		before, had := s.vertexKey(x, old)
		after, has := s.vertexKey(x, v)
		if had {
			s.removeEntry(x.ID, before, id)
		}
		if has {
			s.addEntry(x.ID, after, id)
		}
	}
	if old == nil {
		old = &vertex{}
	}
	if v == nil {
		for _, k := range old.spaces {
			s.removeEntry(k.space, k.key, id)
		}
		return
	}
	for _, k := range v.spaces {
		if !slices.Contains(old.spaces, k) {
			s.addEntry(k.space, k.key, id)
		}
	}
}

func (s *state) addEntry(x graph.IndexID, key string, id graph.VertexID) {
	m := s.entries[x]
	if m == nil {
		m = map[string][]graph.VertexID{}
		s.entries[x] = m
	}
	m[key] = append(slices.Clone(m[key]), id)
}

func (s *state) removeEntry(x graph.IndexID, key string, id graph.VertexID) {
	left := slices.DeleteFunc(slices.Clone(s.entries[x][key]), func(o graph.VertexID) bool { return o == id })
	if len(left) == 0 {
		delete(s.entries[x], key)
		return
	}
	s.entries[x][key] = left
}

func (s *state) addEdge(src, dst graph.VertexID, typ graph.TypeID, props []graph.Property) graph.EdgeID {
	p := &s.parts[src.Shard()]
	id := graph.MakeEdgeID(src.Shard(), uint64(len(p.edges)))
	p.edges = append(p.edges, &edge{Edge: graph.Edge{ID: id, Src: src, Dst: dst, Type: typ}, props: props})
	out, in := &p.out[src.Local()], &s.parts[dst.Shard()].in[dst.Local()]
	*out = append(slices.Clone(*out), id)
	*in = append(slices.Clone(*in), id)
	return id
}

func (s *state) removeEdge(id graph.EdgeID) {
	e := s.edge(id)
	if e == nil {
		return
	}
	s.parts[id.Shard()].edges[id.Local()] = nil
	out, in := &s.parts[e.Src.Shard()].out[e.Src.Local()], &s.parts[e.Dst.Shard()].in[e.Dst.Local()]
	is := func(o graph.EdgeID) bool { return o == id }
	*out = slices.DeleteFunc(slices.Clone(*out), is)
	*in = slices.DeleteFunc(slices.Clone(*in), is)
}

// vertices calls f for each vertex in ascending order of ids.
func (s *state) vertices(f func(graph.VertexID, *vertex)) {
	for n, p := range s.parts {
		for i, v := range p.vertices {
			if v != nil {
				f(graph.MakeVertexID(n, uint64(i)), v)
			}
		}
	}
}

// edges calls f for each edge.
func (s *state) edges(f func(*edge)) {
	for _, p := range s.parts {
		for _, e := range p.edges {
			if e != nil {
				f(e)
			}
		}
	}
}

func property(props []graph.Property, id graph.PropID) graph.Value {
	for _, p := range props {
		if p.ID == id {
			return p.Value
		}
	}
	return graph.Value{}
}

// withProperties returns props updated by the properties of set; a null removes its property.
func withProperties(props, set []graph.Property) []graph.Property {
	props = slices.Clone(props)
	for _, p := range set {
		props = slices.DeleteFunc(props, func(o graph.Property) bool { return o.ID == p.ID })
		if !p.Value.IsNull() {
			props = append(props, graph.Property{ID: p.ID, Value: p.Value.Clone()})
		}
	}
	slices.SortFunc(props, func(a, b graph.Property) int { return int(a.ID) - int(b.ID) })
	return props
}
