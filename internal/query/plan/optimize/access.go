package optimize

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// access is one method of finding vertices or edges of a pattern, through an index or by id.
type access struct {
	index          graph.Index
	keys           []plan.Expr // of a range: the values of the first properties
	each           bool
	byRange        bool
	area           plan.Area
	lo, hi         plan.Expr
	loOpen, hiOpen bool
	prefix         bool
	byID, element  bool
	preds          []int // predicates that the access implies
	rows           float64
	cost           float64 // of the look-up, besides the work for each row
}

// access finds the best way to find vertex i without a scan, given the bound columns.
func (m *matcher) access(t *partialPlan, i int) (access, bool) {
	v := m.p.Vertices[i]
	var best access
	found := false
	if m.o.off(seekIndex) {
		return best, found
	}
	take := func(a access) {
		if !found || a.rows < best.rows || a.rows == best.rows && len(a.preds) > len(best.preds) {
			best, found = a, true
		}
	}
	for _, pi := range m.about[v.Col] {
		if t.preds[pi] {
			continue
		}
		if a, ok := m.idTest(t, v.Col, pi); ok {
			take(a)
		}
	}
	for _, name := range v.Labels.Names() {
		for k := range m.o.Indexes {
			ix := &m.o.Indexes[k]
			if ix.Label != name || ix.Kind == graph.FullTextIndex || !ix.Indexed || !ix.Online {
				continue
			}
			if a, ok := m.indexAccess(t, v.Col, ix); ok {
				take(a)
			}
		}
	}
	return best, found
}

// edgeAccess finds the best way to find edge i by its id or through an index, given the bound columns.
func (m *matcher) edgeAccess(t *partialPlan, i int) (best access, found bool) {
	e := m.p.Edges[i]
	if e.Length != nil || e.Shortest != "" || e.Walk != nil || m.o.off(seekIndex) {
		return best, false
	}
	for _, pi := range m.about[e.Col] {
		if t.preds[pi] {
			continue
		}
		if a, ok := m.idTest(t, e.Col, pi); ok && (!found || a.element) {
			if !a.element { // a number does not locate the edge: its shard's lists are searched, once for many rows
				a.cost = m.o.Vertices(nil) * m.o.Fanout(e.Types, graph.Out, nil, nil) * plan.EdgeCost
			}
			best, found = a, true
		}
	}
	for k := range m.o.Indexes {
		ix := &m.o.Indexes[k]
		if len(e.Types) != 1 || ix.Type != e.Types[0] || ix.Kind == graph.FullTextIndex || !ix.Indexed || !ix.Online {
			continue
		}
		if a, ok := m.indexAccess(t, e.Col, ix); ok && (!found || a.rows+a.cost < best.rows+best.cost) {
			best, found = a, true
		}
	}
	if e.Dir == graph.Both {
		best.rows *= 2
	}
	return best, found
}

// indexAccess finds the best way to find col through an index: by all of its properties, by some of the first and an interval
// of the next, or by an area.
func (m *matcher) indexAccess(t *partialPlan, col plan.Col, ix *graph.Index) (access, bool) {
	if ix.Kind == graph.PointIndex {
		return m.areaAccess(t, col, ix)
	}
	if a, ok := m.equalAccess(t, col, ix); ok {
		return a, true
	}
	return m.rangeAccess(t, col, ix)
}

// known reports whether an expression can be computed before col is bound.
func (m *matcher) known(t *partialPlan, e plan.Expr, pi int, col plan.Col) bool {
	reads := plan.Reads(e)
	if reads.Has(col) {
		return false
	}
	for c := range m.preds[pi].cols.All() {
		if reads.Has(c) && !t.bound.Has(c) {
			return false
		}
	}
	return !plan.HasSubquery(e)
}

// propOf reports whether e is property key of column col.
func propOf(e plan.Expr, col plan.Col, key string) bool {
	p, ok := e.(*plan.Prop)
	if !ok || p.Key != key {
		return false
	}
	c, ok := p.X.(*plan.ColRef)
	return ok && c.Col == col
}

// equal finds a predicate that equates a property of col with a value.
func (m *matcher) equal(t *partialPlan, col plan.Col, key string) (value plan.Expr, pred int, ok bool) {
	for _, pi := range m.about[col] {
		op, isOp := m.preds[pi].e.(*plan.Op)
		if t.preds[pi] || !isOp || op.Op != plan.Eq {
			continue
		}
		for side := range 2 {
			if value := op.Args[1-side]; propOf(op.Args[side], col, key) && m.known(t, value, pi, col) {
				return value, pi, true
			}
		}
	}
	return nil, 0, false
}

func (m *matcher) equalAccess(t *partialPlan, col plan.Col, ix *graph.Index) (access, bool) {
	a := access{index: *ix}
	for pos, key := range ix.Props {
		value, pi, ok := m.equal(t, col, key)
		if !ok && pos == 0 && len(ix.Props) == 1 {
			return m.inAccess(t, col, ix)
		}
		if !ok {
			return a, false
		}
		a.keys = append(a.keys, value)
		a.preds = append(a.preds, pi)
	}
	a.rows = 1
	if !ix.Unique {
		a.rows = max(1, m.o.All(ix)/max(1, m.o.Distinct(ix)))
	}
	return a, true
}

func (m *matcher) inAccess(t *partialPlan, col plan.Col, ix *graph.Index) (access, bool) {
	for _, pi := range m.about[col] {
		op, ok := m.preds[pi].e.(*plan.Op)
		if t.preds[pi] || !ok || op.Op != plan.In || !propOf(op.Args[0], col, ix.Props[0]) || !m.known(t, op.Args[1], pi, col) {
			continue
		}
		rows := elements(op.Args[1])
		if !ix.Unique {
			rows *= max(1, m.o.All(ix)/max(1, m.o.Distinct(ix)))
		}
		return access{index: *ix, keys: []plan.Expr{op.Args[1]}, each: true, preds: []int{pi}, rows: rows}, true
	}
	return access{}, false
}

func (m *matcher) rangeAccess(t *partialPlan, col plan.Col, ix *graph.Index) (access, bool) {
	a := access{index: *ix, byRange: true, rows: m.o.All(ix)}
	for len(a.keys) < len(ix.Props)-1 {
		value, pi, ok := m.equal(t, col, ix.Props[len(a.keys)])
		if !ok {
			break
		}
		a.keys, a.preds = append(a.keys, value), append(a.preds, pi)
		a.rows *= m.preds[pi].sel
	}
	key := ix.Props[len(a.keys)]
	for _, pi := range m.about[col] {
		op, ok := m.preds[pi].e.(*plan.Op)
		if t.preds[pi] || !ok || len(op.Args) != 2 {
			continue
		}
		code, value := op.Op, op.Args[1]
		if !propOf(op.Args[0], col, key) {
			if !propOf(op.Args[1], col, key) {
				continue
			}
			flipped, ok := map[plan.OpCode]plan.OpCode{plan.Lt: plan.Gt, plan.Le: plan.Ge, plan.Gt: plan.Lt, plan.Ge: plan.Le}[code]
			if !ok {
				continue
			}
			code, value = flipped, op.Args[0]
		}
		if !m.known(t, value, pi, col) {
			continue
		}
		switch {
		case code == plan.StartsWith && a.lo == nil && a.hi == nil:
			a.lo, a.prefix = value, true
		case (code == plan.Gt || code == plan.Ge) && a.lo == nil && !a.prefix:
			a.lo, a.loOpen = value, code == plan.Gt
		case (code == plan.Lt || code == plan.Le) && a.hi == nil && !a.prefix:
			a.hi, a.hiOpen = value, code == plan.Lt
		default:
			continue
		}
		a.preds = append(a.preds, pi)
		a.rows *= m.preds[pi].sel
	}
	return a, len(a.preds) > 0
}

// idTest recognises id(v) = x, elementId(v) = x, and both with IN and a list.
func (m *matcher) idTest(t *partialPlan, col plan.Col, pi int) (access, bool) {
	op, isOp := m.preds[pi].e.(*plan.Op)
	if !isOp || op.Op != plan.Eq && op.Op != plan.In {
		return access{}, false
	}
	for i, arg := range op.Args {
		c, name, ok := termOf(arg)
		if !ok || c != col || name[0] == '.' || op.Op == plan.In && i > 0 {
			continue
		}
		other := op.Args[1-i]
		if !m.known(t, other, pi, col) {
			continue
		}
		a := access{byID: true, element: name == "elementid", keys: []plan.Expr{other}, each: op.Op == plan.In, preds: []int{pi}, rows: 1}
		if a.each {
			a.rows = elements(other)
		}
		return a, true
	}
	return access{}, false
}

// elements guesses the length of a list of keys.
func elements(list plan.Expr) float64 {
	if l, ok := list.(*plan.ListLit); ok {
		return float64(len(l.Elems))
	}
	return 3
}

// areaOf decomposes a predicate on the point of col: the area and its bounds.
func areaOf(e plan.Expr, col plan.Col, key string) (area plan.Area, lo, hi plan.Expr, hiOpen bool) {
	switch e := e.(type) {
	case *plan.Call:
		if e.Func == "point.withinbbox" && len(e.Args) == 3 && propOf(e.Args[0], col, key) {
			return plan.AreaBox, e.Args[1], e.Args[2], false
		}
	case *plan.Op:
		if len(e.Args) != 2 {
			return plan.NoArea, nil, nil, false
		}
		near, far, op := e.Args[0], e.Args[1], e.Op
		switch op {
		case plan.Gt, plan.Ge:
			near, far = far, near
		case plan.Eq:
			for side, value := range e.Args {
				if isPoint(value) && propOf(e.Args[1-side], col, key) {
					return plan.AreaPoint, value, nil, false
				}
			}
			return plan.NoArea, nil, nil, false
		case plan.Lt, plan.Le:
		default:
			return plan.NoArea, nil, nil, false
		}
		if d, ok := near.(*plan.Call); ok && d.Func == "point.distance" && len(d.Args) == 2 {
			for side, centre := range d.Args {
				if propOf(d.Args[1-side], col, key) {
					return plan.AreaNear, centre, far, op == plan.Lt || op == plan.Gt
				}
			}
		}
	}
	return plan.NoArea, nil, nil, false
}

// isPoint reports whether the value of an expression is a point or null whatever its parameters are. Any other value may equal
// a property that a point index does not hold.
func isPoint(e plan.Expr) bool {
	switch e := e.(type) {
	case *plan.Call:
		return e.Func == "point"
	case *plan.Const:
		return e.Value.Kind() == graph.PointKind
	}
	return false
}

// areaAccess finds points through a point index: equal ones, or those within an area.
func (m *matcher) areaAccess(t *partialPlan, col plan.Col, ix *graph.Index) (best access, found bool) {
	for _, pi := range m.about[col] {
		if t.preds[pi] {
			continue
		}
		a := access{index: *ix, byRange: true, preds: []int{pi}}
		a.area, a.lo, a.hi, a.hiOpen = areaOf(m.preds[pi].e, col, ix.Props[0])
		if a.area == plan.NoArea || !m.known(t, a.lo, pi, col) || a.hi != nil && !m.known(t, a.hi, pi, col) {
			continue
		}
		if a.rows = m.o.InArea(a.area, ix); !found || a.rows < best.rows {
			best, found = a, true
		}
	}
	return best, found
}
