package plan

import "github.com/hopgate/hopgate/internal/graph"

// access is one method of finding vertices or edges of a pattern, through an index or by id.
type access struct {
	index          graph.Index
	keys           []Expr // of a range: the values of the first properties
	each           bool
	byRange        bool
	area           Area
	lo, hi         Expr
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
	for _, name := range v.Labels.names() {
		for k := range m.o.indexes {
			ix := &m.o.indexes[k]
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
				a.cost = m.o.vertices(nil) * m.o.fanout(e.Types, graph.Out, nil, nil) * edgeCost
			}
			best, found = a, true
		}
	}
	for k := range m.o.indexes {
		ix := &m.o.indexes[k]
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
func (m *matcher) indexAccess(t *partialPlan, col Col, ix *graph.Index) (access, bool) {
	if ix.Kind == graph.PointIndex {
		return m.areaAccess(t, col, ix)
	}
	if a, ok := m.equalAccess(t, col, ix); ok {
		return a, true
	}
	return m.rangeAccess(t, col, ix)
}

// known reports whether an expression can be computed before col is bound.
func (m *matcher) known(t *partialPlan, e Expr, pi int, col Col) bool {
	reads := Reads(e)
	if reads.Has(col) {
		return false
	}
	for c := range m.preds[pi].cols.All() {
		if reads.Has(c) && !t.bound.Has(c) {
			return false
		}
	}
	return !HasSubquery(e)
}

// propOf reports whether e is property key of column col.
func propOf(e Expr, col Col, key string) bool {
	p, ok := e.(*Prop)
	if !ok || p.Key != key {
		return false
	}
	c, ok := p.X.(*ColRef)
	return ok && c.Col == col
}

// equal finds a predicate that equates a property of col with a value.
func (m *matcher) equal(t *partialPlan, col Col, key string) (value Expr, pred int, ok bool) {
	for _, pi := range m.about[col] {
		op, isOp := m.preds[pi].e.(*Op)
		if t.preds[pi] || !isOp || op.Op != Eq {
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

func (m *matcher) equalAccess(t *partialPlan, col Col, ix *graph.Index) (access, bool) {
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
		a.rows = max(1, m.o.all(ix)/max(1, m.o.distinct(ix)))
	}
	return a, true
}

func (m *matcher) inAccess(t *partialPlan, col Col, ix *graph.Index) (access, bool) {
	for _, pi := range m.about[col] {
		op, ok := m.preds[pi].e.(*Op)
		if t.preds[pi] || !ok || op.Op != In || !propOf(op.Args[0], col, ix.Props[0]) || !m.known(t, op.Args[1], pi, col) {
			continue
		}
		rows := elements(op.Args[1])
		if !ix.Unique {
			rows *= max(1, m.o.all(ix)/max(1, m.o.distinct(ix)))
		}
		return access{index: *ix, keys: []Expr{op.Args[1]}, each: true, preds: []int{pi}, rows: rows}, true
	}
	return access{}, false
}

func (m *matcher) rangeAccess(t *partialPlan, col Col, ix *graph.Index) (access, bool) {
	a := access{index: *ix, byRange: true, rows: m.o.all(ix)}
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
		op, ok := m.preds[pi].e.(*Op)
		if t.preds[pi] || !ok || len(op.Args) != 2 {
			continue
		}
		code, value := op.Op, op.Args[1]
		if !propOf(op.Args[0], col, key) {
			if !propOf(op.Args[1], col, key) {
				continue
			}
			flipped, ok := map[OpCode]OpCode{Lt: Gt, Le: Ge, Gt: Lt, Ge: Le}[code]
			if !ok {
				continue
			}
			code, value = flipped, op.Args[0]
		}
		if !m.known(t, value, pi, col) {
			continue
		}
		switch {
		case code == StartsWith && a.lo == nil && a.hi == nil:
			a.lo, a.prefix = value, true
		case (code == Gt || code == Ge) && a.lo == nil && !a.prefix:
			a.lo, a.loOpen = value, code == Gt
		case (code == Lt || code == Le) && a.hi == nil && !a.prefix:
			a.hi, a.hiOpen = value, code == Lt
		default:
			continue
		}
		a.preds = append(a.preds, pi)
		a.rows *= m.preds[pi].sel
	}
	return a, len(a.preds) > 0
}

// idTest recognises id(v) = x, elementId(v) = x, and both with IN and a list.
func (m *matcher) idTest(t *partialPlan, col Col, pi int) (access, bool) {
	op, isOp := m.preds[pi].e.(*Op)
	if !isOp || op.Op != Eq && op.Op != In {
		return access{}, false
	}
	for i, arg := range op.Args {
		c, name, ok := termOf(arg)
		if !ok || c != col || name[0] == '.' || op.Op == In && i > 0 {
			continue
		}
		other := op.Args[1-i]
		if !m.known(t, other, pi, col) {
			continue
		}
		a := access{byID: true, element: name == "elementid", keys: []Expr{other}, each: op.Op == In, preds: []int{pi}, rows: 1}
		if a.each {
			a.rows = elements(other)
		}
		return a, true
	}
	return access{}, false
}

// elements guesses the length of a list of keys.
func elements(list Expr) float64 {
	if l, ok := list.(*ListLit); ok {
		return float64(len(l.Elems))
	}
	return 3
}

// areaOf decomposes a predicate on the point of col: the area and its bounds.
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

// isPoint reports whether the value of an expression is a point or null whatever its parameters are. Any other value may equal
// a property that a point index does not hold.
func isPoint(e Expr) bool {
	switch e := e.(type) {
	case *Call:
		return e.Func == "point"
	case *Const:
		return e.Value.Kind() == graph.PointKind
	}
	return false
}

// areaAccess finds points through a point index: equal ones, or those within an area.
func (m *matcher) areaAccess(t *partialPlan, col Col, ix *graph.Index) (best access, found bool) {
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
