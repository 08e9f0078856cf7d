package plan

import "github.com/hopgate/hopgate/internal/graph"

// Area is how a SeekRange of a point index tests a point; NoArea compares values.
type Area uint8

// The areas.
const (
	NoArea    Area = iota
	AreaPoint      // the point equals Lo
	AreaBox        // point.withinBBox(point, Lo, Hi)
	AreaNear       // point.distance(point, Lo) <= Hi, or < if HiOpen is set
)

// selArea is the part of the points that lie in an area.
const selArea = 0.02

// areaOf takes a predicate about the point of col apart: the area with its bounds.
func areaOf(e Expr, col Col, key string) (area Area, lo, hi Expr, hiOpen bool) {
	switch e := e.(type) {
	case *Call:
		if e.Func == "point.withinbbox" && len(e.Args) == 3 && propOf(e.Args[0], col, key) {
			return AreaBox, e.Args[1], e.Args[2], false
		}
	case *Op:
		if len(e.Args) != 2 {
			return NoArea, nil, nil, false
		}
		near, far, op := e.Args[0], e.Args[1], e.Op
		switch op {
		case Gt, Ge:
			near, far = far, near
		case Eq:
			for side, value := range e.Args {
				if isPoint(value) && propOf(e.Args[1-side], col, key) {
					return AreaPoint, value, nil, false
				}
			}
			return NoArea, nil, nil, false
		case Lt, Le:
		default:
			return NoArea, nil, nil, false
		}
		if d, ok := near.(*Call); ok && d.Func == "point.distance" && len(d.Args) == 2 {
			for side, centre := range d.Args {
				if propOf(d.Args[1-side], col, key) {
					return AreaNear, centre, far, op == Lt || op == Gt
				}
			}
		}
	}
	return NoArea, nil, nil, false
}

// isPoint reports whether an expression gives a point or null whatever its parameters are. Any other value may equal a property that a
// point index does not hold.
func isPoint(e Expr) bool {
	switch e := e.(type) {
	case *Call:
		return e.Func == "point"
	case *Const:
		return e.Value.Kind() == graph.PointKind
	}
	return false
}

// areaAccess finds points through a point index: an equal one, or else those that lie in an area.
func (m *matcher) areaAccess(t *tried, col Col, ix *graph.Index) (best access, found bool) {
	for _, pi := range m.about[col] {
		if t.preds[pi] {
			continue
		}
		a := access{index: *ix, byRange: true, preds: []int{pi}}
		a.area, a.lo, a.hi, a.hiOpen = areaOf(m.preds[pi].e, col, ix.Props[0])
		if a.area == NoArea || !m.known(t, a.lo, pi, col) || a.hi != nil && !m.known(t, a.hi, pi, col) {
			continue
		}
		if a.rows = m.o.inArea(a.area, ix); !found || a.rows < best.rows {
			best, found = a, true
		}
	}
	return best, found
}

// inArea is how many of an index's points lie in an area.
func (o *optimizer) inArea(a Area, ix *graph.Index) float64 {
	if a == AreaPoint {
		return max(1, o.all(ix)/max(1, o.distinct(ix)))
	}
	return o.all(ix) * selArea
}
