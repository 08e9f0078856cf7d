package search

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

// searchSide is a breadth-first search from one vertex, level by level. For each vertex, it keeps the last edge of one shortest
// path, or of all.
type searchSide struct {
	kernel
	all bool           // keep the last edges of all shortest paths
	b   *runtime.Batch // the input row that the search is for
	row int32
}

// searchMeet is a vertex that both sides have reached, with its number on either side.
type searchMeet struct{ here, there int32 }

// start begins a search at v, for a row of b.
func (s *searchSide) start(b *runtime.Batch, row int32, v graph.VertexID) {
	s.begin()
	s.b, s.row = b, row
	s.tree.start(v)
	s.tree.head = append(s.tree.head, -1)
}

// width is the number of vertices of the last level.
func (s *searchSide) width() int { return len(s.tree.vertex) - s.tree.level }

// depth is the distance of the last level, which may have no vertices.
func (s *searchSide) depth() int {
	t := &s.tree
	if s.width() == 0 {
		return int(t.dist[len(t.dist)-1]) + 1
	}
	return int(t.dist[t.level])
}

// distance returns how far a vertex is from the start, if it has been reached.
func (s *searchSide) distance(v graph.VertexID) (int, bool) {
	at, ok := s.tree.table.get(v)
	if !ok {
		return 0, false
	}
	return int(s.tree.dist[at]), true
}

// advance adds a level. With another side, it records the new vertices that the other has reached; unless all paths are
// requested, it stops at the first.
func (s *searchSide) advance(ctx context.Context, other *searchSide) error {
	depth := s.tree.dist[s.tree.level] + 1
	lo, list := s.tree.nextLevel(&s.frontier)
	limit := graph.BatchSize
	for base := 0; base < len(list); base += s.reader.Answer.Done {
		if err := s.read(ctx, list[base:], limit, s.b, s.row, nil); err != nil {
			return err
		}
		limit = min(2*limit, adjacency.MaxEdges)
		for u := range s.reader.Answer.Done {
			pred := lo + s.frontier.Order[base+u]
			if s.take(u, pred, depth, other) {
				return s.account()
			}
		}
	}
	return s.account()
}

// take follows the edges of source u of the answer and reports whether the search is complete.
func (s *searchSide) take(u int, pred, depth int32, other *searchSide) bool {
	res, t := &s.reader.Answer, &s.tree
	for i := res.Offsets[u]; i < res.Offsets[u+1]; i++ {
		v := res.Targets[i]
		at, added := t.add(v)
		if added {
			t.dist, t.head = append(t.dist, depth), append(t.head, -1)
		} else if !s.all || t.dist[at] != depth {
			continue
		}
		if s.reader.Edges {
			t.edges = append(t.edges, s.reader.Edge(i, t.vertex[pred]))
		}
		t.links = append(t.links, treeLink{pred: pred, next: t.head[at]})
		t.head[at] = int32(len(t.links) - 1)
		if !added || other == nil {
			continue
		}
		if there, ok := other.tree.table.get(v); ok {
			s.meets = append(s.meets, searchMeet{at, there})
			if !s.all {
				return true
			}
		}
	}
	return false
}

// edge returns the edge of a link, or none if the search keeps none.
func (s *searchSide) edge(link int32) graph.Edge {
	if !s.reader.Edges {
		return graph.Edge{}
	}
	return s.tree.edges[link]
}

// meet searches from both ends until the sides meet, the shortest path would exceed max edges, or a side has no frontier. It
// advances the side with fewer vertices. swapped reports whether bwd recorded the meets.
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

// shortestWays enumerates the paths through the meets of two searches: a path is a sequence of links, chosen from the meet to
// the start and then from the meet to the end.
type shortestWays struct {
	fwd, bwd *searchSide
	meets    []searchMeet
	swapped  bool // here is a number of bwd
	now      int  // the current meet
	chosen   []int32
	first    int // of chosen those on the side of fwd
	begun    bool
}

func (w *shortestWays) set(fwd, bwd *searchSide, meets []searchMeet, swapped bool) {
	w.fwd, w.bwd, w.meets, w.swapped, w.now, w.begun = fwd, bwd, meets, swapped, 0, false
}

// next moves to the next path.
func (w *shortestWays) next() bool {
	for ; w.now < len(w.meets); w.now++ {
		if !w.begun {
			w.begun = true
			w.first = int(w.fwd.tree.dist[w.number(w.fwd)])
			w.chosen = w.chosen[:0]
			w.fill(w.first + int(w.bwd.tree.dist[w.number(w.bwd)]))
			return true
		}
		for n := len(w.chosen); n > 0; n-- {
			if after := w.side(n - 1).tree.links[w.chosen[n-1]].next; after >= 0 {
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

// number returns the current meet's number on a side.
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

// fill chooses the first link for each of the n edges that has none.
func (w *shortestWays) fill(n int) {
	for i := len(w.chosen); i < n; i++ {
		s := w.side(i)
		at := w.number(s)
		if i != 0 && i != w.first {
			at = s.tree.links[w.chosen[i-1]].pred
		}
		w.chosen = append(w.chosen, s.tree.head[at])
	}
}

// appendTo appends the vertices and edges of the path in order.
func (w *shortestWays) appendTo(vertices []graph.VertexID, edges []graph.Edge) ([]graph.VertexID, []graph.Edge) {
	for i := w.first - 1; i >= 0; i-- {
		vertices = append(vertices, w.fwd.tree.vertex[w.fwd.tree.links[w.chosen[i]].pred])
		edges = append(edges, w.fwd.edge(w.chosen[i]))
	}
	vertices = append(vertices, w.fwd.tree.vertex[w.number(w.fwd)])
	for i := w.first; i < len(w.chosen); i++ {
		vertices = append(vertices, w.bwd.tree.vertex[w.bwd.tree.links[w.chosen[i]].pred])
		edges = append(edges, w.bwd.edge(w.chosen[i]))
	}
	return vertices, edges
}
