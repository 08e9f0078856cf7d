package search

import (
	"context"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/shard"
)

// searchSide is a breadth-first search from one vertex, level by level. For each vertex it remembers by which edges a
// shortest way reaches it: one of them, or all.
type searchSide struct {
	reader *adjacency.Reader
	all    bool // all ways are remembered

	b       *runtime.Batch // the input row that the search is for
	row     int32
	allowed adjacency.RowEdges
	level   int // of vertex: where the last level begins
	*searchMemory
}

// searchMemory is what a search needs memory for. It goes from one statement to the next.
type searchMemory struct {
	table  vertexTable
	vertex []graph.VertexID // in the order of their distances
	dist   []int32          // beside vertex
	head   []int32          // beside vertex: its first link, or -1
	links  []searchLink
	edges  []graph.Edge // beside links, if the hop's edges are wanted
	f      runtime.Frontier
	res    shard.Neighbours // lent to the hop
	meets  []searchMeet     // what advance found
}

var searchMemories = sync.Pool{New: func() any { return &searchMemory{} }}

// searchLink is the last edge of a shortest way to a vertex.
type searchLink struct {
	pred int32 // the vertex before
	next int32 // the next link of the same vertex, or -1
}

// searchMeet is a vertex that both sides have reached, by its number on either side.
type searchMeet struct{ here, there int32 }

// start begins a search at v, for a row of b.
func (s *searchSide) start(b *runtime.Batch, row int32, v graph.VertexID) {
	s.b, s.row = b, row
	if s.searchMemory == nil {
		s.searchMemory, _ = searchMemories.Get().(*searchMemory)
		s.reader.Answer = s.res
	}
	s.table.clear()
	s.table.put(v, 0)
	s.vertex = append(s.vertex[:0], v)
	s.dist, s.head, s.links = append(s.dist[:0], 0), append(s.head[:0], -1), s.links[:0]
	s.edges, s.level, s.meets = s.edges[:0], 0, s.meets[:0]
}

// release returns the memory to its pool. The search must be started again before it is used.
func (s *searchSide) release() {
	m := s.searchMemory
	if m == nil {
		return
	}
	s.searchMemory = nil
	m.res, s.reader.Answer = s.reader.Answer, shard.Neighbours{}
	if len(m.table.slots) <= adjacency.MaxKeptEdges && cap(m.res.Targets) <= adjacency.MaxKeptEdges {
		searchMemories.Put(m)
	}
}

// width is the number of vertices of the last level.
func (s *searchSide) width() int { return len(s.vertex) - s.level }

// depth is the distance of the last level, which may have no vertices.
func (s *searchSide) depth() int {
	if s.width() == 0 {
		return int(s.dist[len(s.dist)-1]) + 1
	}
	return int(s.dist[s.level])
}

// distance gives how far a vertex is from the start, if it has been reached.
func (s *searchSide) distance(v graph.VertexID) (int, bool) {
	at, ok := s.table.get(v)
	if !ok {
		return 0, false
	}
	return int(s.dist[at]), true
}

// advance adds a level. With another side, it notes the new vertices that are known there; unless all ways are wanted,
// it ends at the first.
func (s *searchSide) advance(ctx context.Context, other *searchSide) error {
	lo, hi := s.level, len(s.vertex)
	depth := s.dist[lo] + 1
	s.f.Set(s.vertex[lo:hi])
	s.level = hi
	limit := graph.BatchSize
	for base := 0; base < len(s.f.IDs); base += s.reader.Answer.Done {
		if err := s.reader.Run.Alive(ctx); err != nil {
			return err
		}
		if err := s.reader.Read(ctx, s.f.IDs[base:], limit); err != nil {
			return err
		}
		if err := s.allowed.Keep(ctx, s.reader, s.b, s.row, nil); err != nil {
			return err
		}
		limit = min(2*limit, adjacency.MaxEdges)
		for u := range s.reader.Answer.Done {
			pred := int32(lo) + s.f.Order[base+u] // the vertices of a level are distinct
			if s.take(u, pred, depth, other) {
				return nil
			}
		}
	}
	return nil
}

// take follows the edges of source u of the answer; it reports whether the search is at its end.
func (s *searchSide) take(u int, pred, depth int32, other *searchSide) bool {
	res := &s.reader.Answer
	for i := res.Offsets[u]; i < res.Offsets[u+1]; i++ {
		v := res.Targets[i]
		at, added := s.table.put(v, int32(len(s.vertex)))
		if added {
			s.vertex, s.dist, s.head = append(s.vertex, v), append(s.dist, depth), append(s.head, -1)
		} else if !s.all || s.dist[at] != depth {
			continue
		}
		if s.reader.Edges {
			s.edges = append(s.edges, s.reader.Edge(i, s.vertex[pred]))
		}
		link := searchLink{pred: pred, next: s.head[at]}
		s.head[at] = int32(len(s.links))
		s.links = append(s.links, link)
		if !added || other == nil {
			continue
		}
		if there, ok := other.table.get(v); ok {
			s.meets = append(s.meets, searchMeet{at, there})
			if !s.all {
				return true
			}
		}
	}
	return false
}

// edge gives the edge of a link, or none if the search keeps none.
func (s *searchSide) edge(link int32) graph.Edge {
	if !s.reader.Edges {
		return graph.Edge{}
	}
	return s.edges[link]
}

// bytes is about what the search holds.
func (s *searchSide) bytes() int {
	return len(s.vertex)*(8+4+4) + len(s.links)*8 + len(s.edges)*32 + s.table.n*2*16 + len(s.reader.Answer.Targets)*24
}

// meet searches from both ends until the sides meet, the shortest way would have more than max edges, or a side has
// nowhere to go. It advances the side with fewer vertices. swapped says that the meets were noted by bwd.
func meet(ctx context.Context, fwd, bwd *searchSide, max int) (meets []searchMeet, swapped bool, err error) {
	for edges := 0; edges < max && fwd.width() > 0 && bwd.width() > 0; edges++ {
		s, other := fwd, bwd
		if bwd.width() < fwd.width() {
			s, other = bwd, fwd
		}
		if err := s.advance(ctx, other); err != nil {
			return nil, false, err
		}
		if len(s.meets) > 0 {
			return s.meets, s == bwd, nil
		}
	}
	return nil, false, nil
}

// shortestWays gives the ways through the meets of two searches one after the other: a way is one link for each of its
// edges, chosen from the meet to the start and then from the meet to the end.
type shortestWays struct {
	fwd, bwd *searchSide
	meets    []searchMeet
	swapped  bool // here is a number of bwd
	now      int  // the meet at work
	chosen   []int32
	first    int // of chosen those on the side of fwd
	begun    bool
}

func (w *shortestWays) set(fwd, bwd *searchSide, meets []searchMeet, swapped bool) {
	w.fwd, w.bwd, w.meets, w.swapped, w.now, w.begun = fwd, bwd, meets, swapped, 0, false
}

// next goes to the next way.
func (w *shortestWays) next() bool {
	for ; w.now < len(w.meets); w.now++ {
		if !w.begun {
			w.begun = true
			w.first = int(w.fwd.dist[w.number(w.fwd)])
			w.chosen = w.chosen[:0]
			w.fill(w.first + int(w.bwd.dist[w.number(w.bwd)]))
			return true
		}
		for n := len(w.chosen); n > 0; n-- {
			if after := w.side(n - 1).links[w.chosen[n-1]].next; after >= 0 {
				all := len(w.chosen)
				w.chosen[n-1] = after
				w.chosen = w.chosen[:n]
				w.fill(all)
				return true
			}
		}
		w.begun = false
	}
	return false
}

// number gives the present meet's number on a side.
func (w *shortestWays) number(s *searchSide) int32 {
	m := w.meets[w.now]
	if (s == w.bwd) == w.swapped {
		return m.here
	}
	return m.there
}

func (w *shortestWays) side(i int) *searchSide {
	if i < w.first {
		return w.fwd
	}
	return w.bwd
}

// fill chooses the first link for each of the edges, n in all, that have none.
func (w *shortestWays) fill(n int) {
	for i := len(w.chosen); i < n; i++ {
		s := w.side(i)
		at := w.number(s)
		if i != 0 && i != w.first {
			at = s.links[w.chosen[i-1]].pred
		}
		w.chosen = append(w.chosen, s.head[at])
	}
}

// appendTo appends the vertices and edges of the way in the order of the path.
func (w *shortestWays) appendTo(vertices []graph.VertexID, edges []graph.Edge) ([]graph.VertexID, []graph.Edge) {
	for i := w.first - 1; i >= 0; i-- {
		vertices = append(vertices, w.fwd.vertex[w.fwd.links[w.chosen[i]].pred])
		edges = append(edges, w.fwd.edge(w.chosen[i]))
	}
	vertices = append(vertices, w.fwd.vertex[w.number(w.fwd)])
	for i := w.first; i < len(w.chosen); i++ {
		vertices = append(vertices, w.bwd.vertex[w.bwd.links[w.chosen[i]].pred])
		edges = append(edges, w.bwd.edge(w.chosen[i]))
	}
	return vertices, edges
}
