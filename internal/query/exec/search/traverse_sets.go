package search

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// traverseSets goes from one set of vertices to the next: frontiers, least distances, and layers. ids holds the current set,
// sorted. The next one grows in visited: behind the last of begins, or, for frontiers, on its own.
type traverseSets struct {
	*traverse
	h    int // hops to the current set
	base int // sources of the current set that are done
	// The rest of the current answer: source u from edge i on.
	u, i  int
	given int  // vertices of the current set that have been returned
	edges bool // layers: all vertices have been returned, the edges follow
	// Layers: returned edges that may be read from their other end too; nil if none is read from both.
	givenEdges map[graph.EdgeID]bool
	closed     bool // nothing is left
}

// bothEnds reports whether an edge may be read from both ends.
func bothEnds(hops []plan.TraverseHop) bool {
	return hops[0].Dir == graph.Both || slices.ContainsFunc(hops, func(h plan.TraverseHop) bool { return h.Dir != hops[0].Dir })
}

func newTraverseSets(x *traverse) *traverseSets {
	s := &traverseSets{traverse: x}
	for _, h := range x.hops {
		h.Edges = x.edgeAt >= 0
	}
	return s
}

func (s *traverseSets) Open(ctx context.Context) error {
	s.h, s.base, s.u, s.i, s.given, s.edges, s.closed = 0, 0, 0, 0, 0, false, false
	if s.givenEdges = nil; bothEnds(s.n.Hops) {
		s.givenEdges = map[graph.EdgeID]bool{}
	}
	return s.traverse.open(ctx)
}

func (s *traverseSets) Next(ctx context.Context) (*runtime.Batch, error) {
	s.out.Reset(s.width())
	if !s.loaded {
		if err := s.first(ctx); err != nil {
			return nil, err
		}
	}
	for s.out.N < s.r.BatchSize() && !s.closed {
		if err := s.advance(ctx); err != nil {
			return nil, err
		}
	}
	if s.out.N == 0 {
		return nil, nil
	}
	return &s.out, nil
}

// first sets the first set to the starts.
func (s *traverseSets) first(ctx context.Context) error {
	if err := s.load(ctx); err != nil {
		return err
	}
	s.frontier.Set(s.starts)
	s.ids = append(s.ids, s.frontier.IDs...)
	s.given = len(s.ids)
	if s.n.Min == 0 {
		s.given = 0
	}
	if s.n.Mode != plan.ModeFrontier {
		s.addAll(s.ids)
		s.begins = append(s.begins, 0, len(s.list))
	}
	return s.enter(ctx)
}

// byVertex reports whether the rows are the vertices of a set.
func (s *traverseSets) byVertex() bool { return s.n.Mode != plan.ModeFrontier || s.n.Ends || s.h == 0 }

// enter prepares the current set for the next hop.
func (s *traverseSets) enter(ctx context.Context) error {
	s.base, s.u, s.i = 0, 0, 0
	if s.h == len(s.hops) {
		return nil
	}
	h := s.hops[s.h]
	h.Answer.Done = 0
	s.frontier.IDs = s.frontier.IDs[:0]
	keep, err := h.admit(ctx, s.ids)
	if err != nil {
		return err
	}
	for i, v := range s.ids {
		if keep == nil || keep[i] {
			s.frontier.IDs = append(s.frontier.IDs, v)
		}
	}
	return nil
}

// advance does one step: it returns vertices, turns an answer into rows, reads the next answer or moves to the next set.
func (s *traverseSets) advance(ctx context.Context) error {
	switch {
	case s.given < len(s.ids) && s.h >= s.n.Min && s.byVertex():
		s.emitVertices()
		return nil
	case s.edges:
		return s.emitLayerEdges(ctx)
	case s.h == len(s.hops) || s.stop:
		s.finish()
		return nil
	}
	h := s.hops[s.h]
	if s.u < h.Answer.Done && !s.r.Expired() {
		s.take(h)
		return nil
	}
	s.base += h.Answer.Done
	h.Answer.Done, s.u, s.i = 0, 0, 0
	if s.base == len(s.frontier.IDs) || h.full() {
		return s.nextLevel(ctx)
	}
	if err := s.r.CheckCancel(ctx); err != nil {
		return err
	}
	err := h.next(ctx, s.frontier.IDs[s.base:], adjacency.MaxEdges)
	if err == nil {
		err = s.holdSets()
	}
	if err != nil && s.endedBy(err) {
		h.Answer.Done = 0
		return s.nextLevel(ctx)
	}
	return err
}

// holdSets accounts for the memory of the sets and layers.
func (s *traverseSets) holdSets() error {
	return s.acct.GrowTo(8*len(s.starts) + 24*len(s.givenEdges) + s.bytes())
}

// take processes the answer until the batch is full or the answer ends.
func (s *traverseSets) take(h *cappedReader) {
	rows := s.n.Mode == plan.ModeFrontier && !s.n.Ends && s.h+1 >= s.n.Min
	size := s.r.BatchSize()
	for ; s.u < h.Answer.Done; s.u++ {
		s.i = max(s.i, h.Answer.Offsets[s.u])
		for ; s.i < h.Answer.Offsets[s.u+1]; s.i++ {
			v := h.Answer.Targets[s.i]
			if rows {
				if s.out.N == size {
					return
				}
				s.addVertex(v)
				if s.edgeAt >= 0 {
					s.addEdge(h.Edge(s.i, s.frontier.IDs[s.base+s.u]), true)
				}
				s.addHop(s.h + 1)
				s.out.N++
			}
			s.add(v)
		}
	}
}

// nextLevel replaces the current set by the next.
func (s *traverseSets) nextLevel(ctx context.Context) error {
	if s.n.Mode == plan.ModeFrontier {
		s.ids = s.drain(s.ids)
	} else {
		s.ids = append(s.ids[:0], s.list[s.begins[len(s.begins)-1]:]...)
	}
	s.h++
	s.given = 0
	if len(s.ids) == 0 {
		s.finish()
		return nil
	}
	s.begins = append(s.begins, len(s.list))
	s.frontier.SortOnly(s.ids)
	if err := s.holdSets(); err != nil && !s.endedBy(err) {
		return err
	}
	return s.enter(ctx)
}

// emitVertices adds rows of the current set.
func (s *traverseSets) emitVertices() {
	n := min(s.r.BatchSize()-s.out.N, len(s.ids)-s.given)
	for _, v := range s.ids[s.given : s.given+n] {
		s.addVertex(v)
		s.addEdge(graph.Edge{}, false)
		s.addHop(s.h)
	}
	s.given += n
	s.out.N += n
}

// finish ends the sets; layers continue with their edges.
func (s *traverseSets) finish() {
	if s.n.Mode != plan.ModeLayers || s.edgeAt < 0 {
		s.closed = true
		return
	}
	s.edges, s.h, s.ids, s.base, s.u, s.i = true, -1, s.ids[:0], 0, 0, 0
	s.given, s.frontier.IDs = 0, s.frontier.IDs[:0]
}

// emitLayerEdges returns edges from the current layer to vertices of any layer, each edge at the first layer from which it
// satisfies the hop. The hop that follows a layer selects its edges; the last layer uses the last hop.
func (s *traverseSets) emitLayerEdges(ctx context.Context) error {
	var h *cappedReader
	if s.h >= 0 {
		h = s.hops[min(s.h, len(s.hops)-1)]
		if s.u < h.Answer.Done {
			s.takeLayer(h)
			return nil
		}
		s.base += h.Answer.Done
		h.Answer.Done, s.u, s.i = 0, 0, 0
	}
	if s.h < 0 || s.base == len(s.frontier.IDs) || s.stop {
		s.h++
		if s.h == len(s.begins)-1 || s.stop {
			s.closed = true
			return nil
		}
		s.base, s.frontier.IDs = 0, append(s.frontier.IDs[:0], s.list[s.begins[s.h]:s.begins[s.h+1]]...)
		s.frontier.SortOnly(s.frontier.IDs)
		s.hops[min(s.h, len(s.hops)-1)].Answer.Done = 0
		return nil
	}
	if err := s.r.CheckCancel(ctx); err != nil {
		return err
	}
	err := h.Read(ctx, s.frontier.IDs[s.base:], adjacency.MaxEdges) // not counted again
	if err == nil {
		err = s.holdSets()
	}
	if err != nil && s.endedBy(err) {
		h.Answer.Done = 0
		return nil
	}
	return err
}

func (s *traverseSets) takeLayer(h *cappedReader) {
	size := s.r.BatchSize()
	for ; s.u < h.Answer.Done; s.u++ {
		s.i = max(s.i, h.Answer.Offsets[s.u])
		from := s.frontier.IDs[s.base+s.u]
		for ; s.i < h.Answer.Offsets[s.u+1]; s.i++ {
			v := h.Answer.Targets[s.i]
			if !s.has(v) {
				continue
			}
			id := h.Answer.Edges[s.i]
			if s.givenEdges[id] {
				delete(s.givenEdges, id) // each edge has two ends
				continue
			}
			if s.out.N == size {
				return
			}
			s.addNoVertex()
			s.addEdge(h.Edge(s.i, from), true)
			s.addHop(s.h)
			s.out.N++
			if s.givenEdges != nil && v != from {
				s.givenEdges[id] = true
			}
		}
	}
}
