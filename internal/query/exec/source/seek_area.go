package source

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/spatial"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// area is the area of a spatial predicate: a box between two corners, or a circle around a point.
type area struct {
	low, high *graph.Point
	radius    graph.Value
	open      bool // the circle's border is excluded
}

// addArea adds the ranges that cover a row's area. A value that is not a point or a number makes it empty.
func (s *rangeSeeker) addArea(lo graph.Value, his []graph.Value, row int32) {
	var a area
	var spans []spatial.Span
	if lo.Kind() == graph.PointKind {
		a.low = lo.Point()
		switch s.n.Area {
		case plan.AreaPoint:
			spans = spatial.At(a.low)
		case plan.AreaBox:
			if hi := his[row]; hi.Kind() == graph.PointKind {
				a.high = hi.Point()
				spans = spatial.Box(a.low, a.high)
			}
		case plan.AreaNear:
			if hi := his[row]; hi.IsNumber() {
				a.radius, a.open = hi, s.n.HiOpen
				spans = spatial.Near(a.low, hi.Number())
			}
		}
	}
	var r shard.Range
	for i, span := range spans {
		lo, hi := graph.IntValue(span.Lo), graph.IntValue(span.Hi)
		if i == 0 {
			r.Lo, r.Hi = lo, hi
			continue
		}
		r.Further = append(r.Further, [2]graph.Value{lo, hi})
	}
	s.ranges, s.none, s.areas = append(s.ranges, r), append(s.none, len(spans) == 0), append(s.areas, a)
}

// holds reports whether a value is a point in the area.
func (a *area) holds(kind plan.Area, v graph.Value) bool {
	if v.Kind() != graph.PointKind {
		return false
	}
	p := v.Point()
	switch kind {
	case plan.AreaPoint:
		return *p == *a.low
	case plan.AreaBox:
		in, ok := spatial.InBox(p, a.low, a.high)
		return in && ok
	}
	d, ok := spatial.Distance(p, a.low)
	if a.open {
		return ok && fn.Less(graph.FloatValue(d), a.radius) == fn.True
	}
	return ok && fn.LessEqual(graph.FloatValue(d), a.radius) == fn.True
}
