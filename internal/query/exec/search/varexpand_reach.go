package search

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/shard"
)

// reach finds the vertices to which there is a trail of min to max edges from one vertex. If min is 0 or 1, these are the
// vertices within distance max, because a shortest walk repeats no edge. The start itself is an end of a trail of 0 edges, or
// of a closed trail, which hasClosedTrail finds if edges have no direction. If min is larger, they are found length by length.
type reach struct {
	kernel
	uniqueness *adjacency.Uniqueness
	test       *expr.LabelTest // of the ends; nil: none
	min, max   int

	trails *trailWalk // set if min is more than 1
	ways   *reachWays // set if the distance or the last edge of an end is requested
}

func newReach(r *runtime.Run, name string, reader *adjacency.Reader, uses *adjacency.Uniqueness, test *expr.LabelTest) *reach {
	return &reach{kernel: newKernel(r, name, reader), uniqueness: uses, test: test}
}

// release returns the memory.
func (s *reach) release() {
	if s.trails != nil {
		s.trails.release()
	}
	s.kernel.release()
}

// ManyVertices is the size of a frontier from which on it is a bitmap, in a small graph; a test lowers it. Bitmaps cost the
// size of the graph, lists that of the answer.
var ManyVertices = 8

// useBitmap reports whether a frontier of n vertices is a bitmap.
func useBitmap(r *runtime.Run, n int) bool {
	const perVertex = 1 << 13 // vertices of the graph whose bits cost as much as expanding one vertex
	if n < ManyVertices {
		return false
	}
	if r.BitmapFrom == 0 {
		r.BitmapFrom = 1 + int(r.Tx.Counts().Vertices/perVertex)
	}
	return n >= r.BitmapFrom
}

// from finds the ends for an input row and puts them into ids; with into, only the end to matters.
func (s *reach) from(ctx context.Context, b *runtime.Batch, start graph.VertexID, row int32, into bool, to graph.VertexID) error {
	s.begin()
	if s.max < s.min {
		return nil
	}
	var err error
	if s.min <= 1 {
		err = s.within(ctx, b, start, row, into, to)
	} else {
		err = s.beyond(ctx, b, start, row, into, to)
	}
	if err != nil {
		return err
	}
	return s.testEnds(ctx)
}

// within finds the ends breadth first and sorts those of each distance except for the last. With into it may stop early.
func (s *reach) within(ctx context.Context, b *runtime.Batch, start graph.VertexID, row int32, into bool, to graph.VertexID) error {
	excluded := s.uniqueness.Excluded(row)
	s.add(start)
	s.begins = append(s.begins, 0)
	closed := s.min == 0
	for lo, depth := 0, 0; lo < len(s.list) && depth < s.max; depth++ {
		if into && (to != start || closed) && s.has(to) {
			break
		}
		hi := len(s.list)
		back, err := s.step(ctx, b, s.list[lo:hi], start, row, excluded, depth+1 == s.max)
		if err != nil {
			return err
		}
		closed = closed || back && s.reader.Dir != graph.Both
		s.begins = append(s.begins, hi)
		lo = hi
	}
	if s.ways != nil {
		s.ids = append(s.ids, s.list[1:]...)
		s.ways.measure(s.list, s.begins)
		return nil
	}
	if !closed && s.reader.Dir == graph.Both && (!into || to == start) {
		var err error
		if closed, err = s.hasClosedTrail(ctx, b, start, row, excluded); err != nil {
			return err
		}
	}
	if into {
		if s.has(to) && (to != start || closed) {
			s.ids = append(s.ids, to)
		}
		return nil
	}
	s.ids = append(s.ids, s.list[1:]...)
	if closed {
		s.ids = append(s.ids, start)
	}
	return nil
}

// eagerLengths is the number of lengths that are processed before the search computes how far the graph extends.
const eagerLengths = 4

// beyond finds the ends of trails of at least two edges, length by length. If the lengths have no bound, or a large one,
// vertices at a distance of at least min are ends in any case, so the search only waits for nearer ones.
func (s *reach) beyond(ctx context.Context, b *runtime.Batch, start graph.VertexID, row int32, into bool, to graph.VertexID) error {
	if s.trails == nil {
		h := *s.reader
		h.Answer, h.Request, h.Sets, h.Keep, h.LabelReader = shard.Neighbours{}, shard.Expand{}, nil, nil, expr.LabelReader{}
		s.trails = newTrailWalk(s.r, s.acct.Name, []*adjacency.Reader{&h})
	}
	waited := -1 // how many ends are missing; -1: unknown
	if s.max-s.min >= eagerLengths {
		if err := s.within(ctx, b, start, row, false, to); err != nil {
			return err
		}
		waited = len(s.ids)
		far := s.ids[:0]
		if s.min < len(s.begins) {
			far = append(far, s.list[s.begins[s.min]:]...)
		}
		waited -= len(far)
		s.clear()
		s.addAll(far)
		s.ids = far[:0]
	}
	s.trails.start([]graph.VertexID{start})
	for depth := 1; depth <= s.max && waited != 0 && (!into || !s.has(to)); depth++ {
		if err := s.trails.advance(ctx); err != nil {
			return err
		}
		ends := s.trails.ends()
		if len(ends) == 0 {
			break
		}
		if depth < s.min {
			continue
		}
		for _, v := range ends {
			if s.add(v) {
				waited--
			}
		}
	}
	if !into {
		s.ids = append(s.ids, s.list...)
	} else if s.has(to) {
		s.ids = append(s.ids, to)
	}
	return nil
}

// step visits the vertices one edge beyond a sorted list, and sorts them unless the step is the last. back reports whether an edge
// leads to start; it is known only for edges with a direction.
func (s *reach) step(
	ctx context.Context, b *runtime.Batch, list []graph.VertexID, start graph.VertexID, row int32, excluded []graph.EdgeID, last bool,
) (back bool, err error) {
	if useBitmap(s.r, len(list)) && s.reader.Filter == nil && len(excluded) == 0 && !s.ways.needsEdges() {
		return s.stepMany(ctx, list, start)
	}
	from := len(s.list)
	for len(list) > 0 {
		s.reader.Edges = len(excluded) > 0 || s.reader.PerRow() || s.ways.needsEdges()
		if err := s.read(ctx, list, adjacency.MaxEdges, b, row, excluded); err != nil {
			return false, err
		}
		targets := s.reader.Answer.Targets
		back = back || s.reader.Dir != graph.Both && slices.Contains(targets, start)
		if s.ways.needsEdges() {
			for i, v := range targets {
				if s.add(v) {
					s.reached(i, list)
				}
			}
		} else {
			s.addAll(targets)
		}
		list = list[s.reader.Answer.Done:]
	}
	if !last {
		s.frontier.SortOnly(s.list[from:])
	}
	return back, s.account()
}

// stepMany is step with bitmaps.
func (s *reach) stepMany(ctx context.Context, list []graph.VertexID, start graph.VertexID) (back bool, err error) {
	types, ok := s.reader.Types.Resolve()
	if !ok {
		return false, nil
	}
	if err := adjacency.VisitDegrees(ctx, s.r, list, types, s.reader.Dir); err != nil {
		return false, err
	}
	s.stepFrom(list)
	if back, err = s.stepSets(ctx, types, start); err != nil {
		return false, err
	}
	s.list = s.now.AppendTo(s.list)
	return back, s.account()
}

// stepSets replaces the set now by the unvisited vertices one edge further, and visits them without listing them. The visited
// set is excluded from the start, so a step that pulls skips it.
func (s *reach) stepSets(ctx context.Context, types []graph.TypeID, start graph.VertexID) (back bool, err error) {
	if err := s.r.CheckCancel(ctx); err != nil {
		return false, err
	}
	s.next.Clear()
	s.next.Union(&s.set)
	s.next.Remove(start)
	s.hidden = true
	if err := s.r.Tx.Step(ctx, &s.now, types, s.reader.Dir, &s.next); err != nil {
		return false, err
	}
	back = s.next.Has(start)
	s.next.Subtract(&s.set)
	s.set.Union(&s.next)
	s.now, s.next = s.next, s.now
	return back, nil
}

// hasClosedTrail reports whether there is a closed trail of at most max edges at start over edges without direction. A shortest
// one leaves start by two edges and joins the branches behind them. So the search grows the tree of shortest paths, with each
// vertex knowing its branch, until it finds an edge between two branches.
func (s *reach) hasClosedTrail(ctx context.Context, b *runtime.Batch, start graph.VertexID, row int32, excluded []graph.EdgeID) (bool, error) {
	t := &s.tree
	t.start(start)
	t.edges = append(t.edges, graph.Edge{}) // parallel to vertex: the one that begins the branch
	for depth := 0; t.level < len(t.vertex) && 2*depth <= s.max; depth++ {
		lo, list := t.nextLevel(&s.frontier)
		for base := 0; base < len(list); base += s.reader.Answer.Done {
			s.reader.Edges = true
			if err := s.read(ctx, list[base:], adjacency.MaxEdges, b, row, excluded); err != nil {
				return false, err
			}
			res := &s.reader.Answer
			for u := range res.Done {
				branch := t.edges[lo+s.frontier.Order[base+u]].ID
				for i := res.Offsets[u]; i < res.Offsets[u+1]; i++ {
					to, edge := res.Targets[i], res.Edges[i]
					if depth == 0 {
						branch = edge
					}
					at, added := t.add(to)
					switch {
					case added:
						t.dist, t.edges = append(t.dist, int32(depth)+1), append(t.edges, graph.Edge{ID: branch})
					case depth == 0 && to == start:
						return true, nil // a loop
					case to == start:
						if edge != branch {
							return true, nil // back by a parallel edge
						}
					case depth > 0 && t.edges[at].ID != branch && depth+int(t.dist[at])+1 <= s.max:
						return true, nil
					}
				}
			}
		}
	}
	return false, s.account()
}

// testEnds drops the ends that fail the test.
func (s *reach) testEnds(ctx context.Context) error {
	if s.test == nil || len(s.ids) == 0 {
		return nil
	}
	s.labels = slices.Grow(s.labels[:0], len(s.ids))[:len(s.ids)]
	if err := s.r.Tx.LabelSets(ctx, s.ids, s.labels); err != nil {
		return err
	}
	n := 0
	for i, v := range s.ids {
		if s.test.Holds(s.labels[i]) {
			s.ids[n] = v
			s.ways.move(n, i)
			n++
		}
	}
	s.ids = s.ids[:n]
	return nil
}
