package search

import (
	"context"
	"slices"
	"sync"

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
	r          *runtime.Run
	reader     *adjacency.Reader
	uniqueness *adjacency.Uniqueness
	test       *expr.LabelTest // of the ends; nil: none
	min, max   int
	*reachMemory

	trails *trailWalk // where min is more than 1
	ways   *reachWays // where the distance of an end or its last edge is wanted
}

// reachMemory is what a reach needs memory for. It goes from one statement to the next, so that a short search does not
// pay for sets as large as the graph.
type reachMemory struct {
	ends []graph.VertexID // what was found

	seen    graph.VertexSet  // empty between searches
	visited []graph.VertexID // in the order of their distances; each distance's part but the last is sorted
	begins  []int            // by distance: where in visited its part begins
	allowed adjacency.RowEdges
	f       runtime.Frontier
	sets    []graph.LabelSet
	res     shard.Neighbours

	many, next graph.VertexSet // for steps by bitmaps
	dense      bool            // seen has vertices that visited has not

	table  vertexTable
	branch []graph.EdgeID // for closes: by vertex, the edge by which the start was left
	depth  []int
}

var reachMemories = sync.Pool{New: func() any { return &reachMemory{} }}

func newReach(r *runtime.Run, hop *adjacency.Reader, uses *adjacency.Uniqueness, test *expr.LabelTest) *reach {
	s := &reach{r: r, reader: hop, uniqueness: uses, test: test}
	s.take()
	return s
}

// take gives the reach memory, if it has none.
func (s *reach) take() {
	if s.reachMemory == nil {
		s.reachMemory, _ = reachMemories.Get().(*reachMemory)
		s.ends, s.reader.Answer = s.ends[:0], s.res
	}
}

// release returns the memory to its pool. The reach must not be used until it takes other.
func (s *reach) release() {
	if s.reachMemory == nil {
		return
	}
	if s.trails != nil {
		s.trails.release()
	}
	s.res, s.reader.Answer = s.reader.Answer, shard.Neighbours{}
	if cap(s.res.Targets) <= adjacency.MaxKeptEdges && cap(s.visited) <= adjacency.MaxKeptEdges {
		reachMemories.Put(s.reachMemory)
	}
	s.reachMemory = nil
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

// from finds the ends for an input row; with into, only to is of interest.
func (s *reach) from(ctx context.Context, b *runtime.Batch, start graph.VertexID, row int32, into bool, to graph.VertexID) error {
	s.ends = s.ends[:0]
	if s.max < s.min {
		return nil
	}
	defer s.Forget()
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

// within finds the ends breadth first. It leaves in visited and begins what it went through, and with into may stop
// early.
func (s *reach) within(ctx context.Context, b *runtime.Batch, start graph.VertexID, row int32, into bool, to graph.VertexID) error {
	excluded := s.uniqueness.Excluded(row)
	s.seen.Add(start)
	s.visited, s.begins = append(s.visited[:0], start), append(s.begins[:0], 0)
	if s.ways != nil {
		s.ways.reset()
	}
	closed := s.min == 0
	for lo, depth := 0, 0; lo < len(s.visited) && depth < s.max; depth++ {
		if into && (to != start || closed) && s.seen.Has(to) {
			break
		}
		if err := s.r.Alive(ctx); err != nil {
			return err
		}
		hi := len(s.visited)
		back, err := s.step(ctx, b, s.visited[lo:hi], start, row, excluded, depth+1 == s.max)
		if err != nil {
			return err
		}
		closed = closed || back && s.reader.Dir != graph.Both
		s.begins = append(s.begins, hi)
		lo = hi
	}
	if s.ways != nil {
		s.ends = append(s.ends, s.visited[1:]...)
		s.ways.measure(s.visited, s.begins)
		return nil
	}
	if !closed && s.reader.Dir == graph.Both && (!into || to == start) {
		var err error
		if closed, err = s.closes(ctx, b, start, row, excluded); err != nil {
			return err
		}
	}
	if into {
		if s.seen.Has(to) && (to != start || closed) {
			s.ends = append(s.ends, to)
		}
		return nil
	}
	s.ends = append(s.ends, s.visited[1:]...)
	if closed {
		s.ends = append(s.ends, start)
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
		s.trails = newTrailWalk(s.r, []*adjacency.Reader{&h})
	}
	waited := -1 // how many ends are yet to be found, or not known
	if s.max-s.min >= fewLengths {
		if err := s.within(ctx, b, start, row, false, to); err != nil {
			return err
		}
		waited = len(s.ends)
		s.ends = s.ends[:0]
		s.Forget()
		far := len(s.visited)
		if s.min < len(s.begins) {
			far = s.begins[s.min]
		}
		s.visited = append(s.visited[:0], s.visited[far:]...)
		for _, v := range s.visited {
			s.seen.Add(v)
			waited--
		}
	} else {
		s.visited = s.visited[:0]
	}
	s.trails.start([]graph.VertexID{start})
	for depth := 1; depth <= s.max && waited != 0 && (!into || !s.seen.Has(to)); depth++ {
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
			if s.seen.Add(v) {
				s.visited = append(s.visited, v)
				waited--
			}
		}
	}
	if !into {
		s.ends = append(s.ends, s.visited...)
	} else if s.seen.Has(to) {
		s.ends = append(s.ends, to)
	}
	return nil
}

// Forget empties seen.
func (s *reach) Forget() {
	if s.dense {
		s.seen.Clear()
		s.dense = false
		return
	}
	s.seen.RemoveAll(s.visited)
}

// step appends the vertices that are one edge beyond a sorted list to visited, sorted unless the step is the last; back
// says that an edge leads to start.
func (s *reach) step(
	ctx context.Context, b *runtime.Batch, list []graph.VertexID, start graph.VertexID, row int32, excluded []graph.EdgeID, last bool,
) (back bool, err error) {
	if many(s.r, len(list)) && s.reader.Filter == nil && len(excluded) == 0 && !s.ways.needsEdges() {
		return s.stepMany(ctx, list, start)
	}
	from := len(s.visited)
	for len(list) > 0 {
		s.reader.Edges = len(excluded) > 0 || s.reader.PerRow() || s.ways.needsEdges()
		if err := s.reader.Read(ctx, list, adjacency.MaxEdges); err != nil {
			return false, err
		}
		if err := s.allowed.Keep(ctx, s.reader, b, row, excluded); err != nil {
			return false, err
		}
		for i, v := range s.reader.Answer.Targets {
			if s.seen.Add(v) {
				s.visited = append(s.visited, v)
				if s.ways.needsEdges() {
					s.ways.reached(s.reader, i, list)
				}
			} else if v == start {
				back = true
			}
		}
		list = list[s.reader.Answer.Done:]
	}
	if !last {
		s.f.Set(s.visited[from:])
		copy(s.visited[from:], s.f.IDs)
	}
	return back, nil
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
	s.many.Clear()
	for _, v := range list {
		s.many.Add(v)
	}
	if back, err = s.stepSets(ctx, types, start); err != nil {
		return false, err
	}
	s.visited = s.many.AppendTo(s.visited)
	return back, nil
}

// stepSets replaces many by the vertices one edge on that are not in seen, and puts them in there. What has been seen is
// there already when the step begins, so that a step that pulls passes it by.
func (s *reach) stepSets(ctx context.Context, types []graph.TypeID, start graph.VertexID) (back bool, err error) {
	s.next.Clear()
	s.next.Union(&s.seen)
	s.next.Remove(start)
	if err := s.r.Tx.Step(ctx, &s.many, types, s.reader.Dir, &s.next); err != nil {
		return false, err
	}
	back = s.next.Has(start)
	s.next.Subtract(&s.seen)
	s.seen.Union(&s.next)
	s.many, s.next = s.next, s.many
	return back, nil
}

// closes reports whether there is a closed trail of at most max edges at start, over edges that can be walked both ways.
// A shortest one leaves start by two edges and joins the branches that they begin; so the tree of shortest ways is
// grown, each vertex knowing its branch, until an edge between two branches is found.
func (s *reach) closes(ctx context.Context, b *runtime.Batch, start graph.VertexID, row int32, excluded []graph.EdgeID) (bool, error) {
	limit := s.max
	s.table.clear()
	s.branch, s.depth = append(s.branch[:0], 0), append(s.depth[:0], 0)
	s.table.put(start, 0)
	level := []graph.VertexID{start}
	for depth := 0; len(level) > 0 && 2*depth <= limit; depth++ {
		var next []graph.VertexID
		for list := level; len(list) > 0; {
			s.reader.Edges = true
			if err := s.reader.Read(ctx, list, adjacency.MaxEdges); err != nil {
				return false, err
			}
			if err := s.allowed.Keep(ctx, s.reader, b, row, excluded); err != nil {
				return false, err
			}
			u := 0
			for i, to := range s.reader.Answer.Targets {
				for s.reader.Answer.Offsets[u+1] <= i {
					u++
				}
				from, _ := s.table.get(list[u])
				at, added := s.table.put(to, int32(len(s.branch)))
				edge := s.reader.Answer.Edges[i]
				branch := s.branch[from]
				if depth == 0 {
					branch = edge
				}
				switch {
				case added:
					s.branch, s.depth = append(s.branch, branch), append(s.depth, depth+1)
					next = append(next, to)
				case depth == 0 && to == start:
					return true, nil // a loop
				case to == start:
					if edge != branch {
						return true, nil // back by a parallel edge
					}
				case depth > 0 && s.branch[at] != branch && depth+s.depth[at]+1 <= limit:
					return true, nil
				}
			}
			list = list[s.reader.Answer.Done:]
		}
		s.f.Set(next)
		level = append(level[:0], s.f.IDs...)
	}
	return false, nil
}

// testEnds drops the ends that fail the test.
func (s *reach) testEnds(ctx context.Context) error {
	if s.test == nil || len(s.ends) == 0 {
		return nil
	}
	s.sets = slices.Grow(s.sets[:0], len(s.ends))[:len(s.ends)]
	if err := s.r.Tx.LabelSets(ctx, s.ends, s.sets); err != nil {
		return err
	}
	n := 0
	for i, v := range s.ends {
		if s.test.Holds(s.sets[i]) {
			s.ends[n] = v
			s.ways.move(n, i)
			n++
		}
	}
	s.ends = s.ends[:n]
	return nil
}
