package search

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
)

// count returns the number of ends of trails from a vertex. It counts the ends of large steps without a list.
func (s *reach) count(ctx context.Context, start graph.VertexID) (int, error) {
	if s.min > 1 || s.test != nil || s.reader.Filter != nil {
		err := s.from(ctx, nil, start, 0, false, graph.NoVertex)
		return len(s.ids), err
	}
	s.begin()
	if s.max < s.min {
		return 0, nil
	}
	s.add(start)
	closed, more := s.min == 0, 0
	for lo, depth := 0, 0; lo < len(s.list) && depth < s.max; depth++ {
		hi := len(s.list)
		var back bool
		var err error
		last := depth+1 == s.max
		if last && useBitmap(s.r, hi-lo) && hi-lo < minSetStep && s.reader.Puts() {
			more, back, err = s.countLast(ctx, s.list[lo:hi], start)
		} else if useBitmap(s.r, hi-lo) {
			more, back, err = s.countMany(ctx, s.list[lo:hi], start, s.max-depth)
		} else {
			back, err = s.step(ctx, nil, s.list[lo:hi], start, 0, nil, last)
		}
		if err != nil {
			return 0, err
		}
		closed = closed || back && s.reader.Dir != graph.Both
		lo = hi
	}
	if !closed && s.reader.Dir == graph.Both {
		var err error
		if closed, err = s.hasClosedTrail(ctx, nil, start, 0, nil); err != nil {
			return 0, err
		}
	}
	n := len(s.list) - 1 + more
	if closed {
		n++
	}
	return n, nil
}

// countLast counts the vertices that are first reached one edge beyond a list; back reports whether an edge leads to start.
func (s *reach) countLast(ctx context.Context, list []graph.VertexID, start graph.VertexID) (n int, back bool, err error) {
	s.hidden = true
	s.set.Remove(start)
	n, err = s.reader.Put(ctx, list, &s.set)
	if back = s.has(start); back {
		n--
	}
	return n, back, err
}

// countMany counts the vertices that are first reached within some hops of a large frontier; back reports whether an edge leads to
// start.
func (s *reach) countMany(ctx context.Context, list []graph.VertexID, start graph.VertexID, hops int) (n int, back bool, err error) {
	types, ok := s.reader.Types.Resolve()
	if !ok {
		return 0, false, nil
	}
	s.stepFrom(list)
	for range hops {
		if s.r.Env.Budget.Edges > 0 {
			s.ids = s.now.AppendTo(s.ids[:0])
			if err := adjacency.VisitDegrees(ctx, s.r, s.ids, types, s.reader.Dir); err != nil {
				return 0, false, err
			}
		}
		b, err := s.stepSets(ctx, types, start)
		if err != nil {
			return 0, false, err
		}
		back = back || b
		found := s.now.Len()
		if n += found; found == 0 {
			break
		}
	}
	return n, back, nil
}

// reachAll counts the ends of trails from any of the vertices of start, which may repeat.
func (x *frontierCount) reachAll(ctx context.Context, start []graph.VertexID) (int, error) {
	w := &x.walk
	w.begin()
	w.frontier.Set(start)
	if len(w.frontier.IDs) == 1 {
		return x.reach.count(ctx, start[0])
	}
	for _, v := range w.frontier.IDs {
		if err := x.reach.from(ctx, nil, v, 0, false, graph.NoVertex); err != nil {
			return 0, err
		}
		w.addAll(x.reach.ids)
	}
	return len(w.list), w.account()
}
