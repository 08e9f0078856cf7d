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

// reach finds the vertices to which there is a trail of min to max edges from one vertex. Where min is 0 or 1, these are
// the vertices within distance max, since a shortest walk repeats no edge; the start itself is an end of a trail of 0
// edges, or of a closed one, which closes finds where edges can be walked both ways. Where min is more, they are found
// length by length.
type reach struct {
	kernel
	uniqueness *adjacency.Uniqueness
	test       *expr.LabelTest // of the ends; nil: none
	min, max   int

	trails *trailWalk // where min is more than 1
	ways   *reachWays // where the distance of an end or its last edge is wanted
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

// ManyVertices is the size of a frontier from which on it is walked as a bitmap where the graph is small; a test makes it
// smaller. Bitmaps cost the size of the graph, lists that of the answer.
var ManyVertices = 8

// many reports whether a frontier of n vertices is walked as a bitmap.
func many(r *runtime.Run, n int) bool {
	const perVertex = 1 << 13 // vertices of the graph whose bits cost what expanding one vertex does
	if n < ManyVertices {
		return false
	}
	if r.BitmapFrom == 0 {
		r.BitmapFrom = 1 + int(r.Tx.Counts().Vertices/perVertex)
	}
	return n >= r.BitmapFrom
}

// from finds the ends for an input row, which are then in ids; with into, only to is of interest.
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

// within finds the ends breadth first, each distance's part of the visited vertices but the last sorted. With into it may stop early.
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
		if closed, err = s.closes(ctx, b, start, row, excluded); err != nil {
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

// fewLengths is the number of lengths that are gone through one by one without first looking how far the graph goes.
const fewLengths = 4

// beyond finds the ends of trails of at least two edges, length by length. Where there is no end to the lengths, or a
// far one, the vertices at a distance of at least min are ends in any case, so that only nearer ones are waited for.
func (s *reach) beyond(ctx context.Context, b *runtime.Batch, start graph.VertexID, row int32, into bool, to graph.VertexID) error {
	if s.trails == nil {
		h := *s.reader
		h.Answer, h.Request, h.Sets, h.Keep, h.LabelReader = shard.Neighbours{}, shard.Expand{}, nil, nil, expr.LabelReader{}
		s.trails = newTrailWalk(s.r, s.acct.Name, []*adjacency.Reader{&h})
	}
	waited := -1 // how many ends are yet to be found, or not known
	if s.max-s.min >= fewLengths {
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

// step visits the vertices that are one edge beyond a sorted list, and sorts them unless the step is the last; back says that an edge
// leads to start, which is known only where edges are walked in one direction.
func (s *reach) step(
	ctx context.Context, b *runtime.Batch, list []graph.VertexID, start graph.VertexID, row int32, excluded []graph.EdgeID, last bool,
) (back bool, err error) {
	if many(s.r, len(list)) && s.reader.Filter == nil && len(excluded) == 0 && !s.ways.needsEdges() {
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

// stepMany is step by bitmaps.
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

// stepSets replaces the set now by the vertices one edge on that are not visited, and visits them without listing them. What has been
// visited is there already when the step begins, so that a step that pulls passes it by.
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

// closes reports whether there is a closed trail of at most max edges at start, over edges that can be walked both ways.
// A shortest one leaves start by two edges and joins the branches that they begin; so the tree of shortest ways is
// grown, each vertex knowing its branch, until an edge between two branches is found.
func (s *reach) closes(ctx context.Context, b *runtime.Batch, start graph.VertexID, row int32, excluded []graph.EdgeID) (bool, error) {
	t := &s.tree
	t.start(start)
	t.edges = append(t.edges, graph.Edge{}) // beside vertex: the one that begins the branch
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
