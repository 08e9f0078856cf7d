package optimize

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// mostlyOne is the mean length of an edge's list up to which almost all lists are taken to hold one edge.
const mostlyOne = 1.25

// intersections appends the steps that bind a vertex by an edge from one bound vertex and an edge, or a test for one, from
// another. The operator reads both lists and intersects them, instead of producing a row for each entry of one of them (the
// worst-case optimal joins of Ngo, Porat, Ré and Rudra 2012, one vertex at a time).
func (m *matcher) intersections(t *partialPlan, steps []step) []step {
	if m.o.off(intersection) {
		return steps
	}
	m.legs = m.legs[:0]
	for _, i := range m.part.edges {
		if left, to, ok := m.leg(t, i); ok {
			m.legs = append(m.legs, leg{edge: i, left: left, to: to})
		}
	}
	for k, a := range m.legs {
		for _, b := range m.legs[k+1:] {
			if a.to == b.to && !m.toOne(a.edge, a.left) && !m.toOne(b.edge, b.left) {
				steps = append(steps, step{kind: stepIntersect, edge: a.edge, left: a.left, edge2: b.edge, left2: b.left})
			}
		}
		for _, j := range m.links[a.to] {
			if _, _, ok := m.edgeTest(t, j, a.to); ok {
				steps = append(steps, step{kind: stepIntersect, edge: a.edge, left: a.left, pred: j, exists: true})
			}
		}
	}
	return steps
}

// leg is an edge from a bound vertex to an unbound one, to.
type leg struct {
	edge int
	left bool
	to   plan.Col
}

// toOne reports whether an edge leads to one vertex: following it and then testing the other edge costs less than marking and
// looking up lists. A mean of one edge does not show that if some lists are long and other vertices have none.
func (m *matcher) toOne(i int, left bool) bool {
	e := &m.p.Edges[i]
	from, _, dir := e.Expansion(left)
	return m.o.Fanout(e.Types, dir, m.guess[from], nil) <= 1 &&
		!slices.ContainsFunc(e.Types, func(typ string) bool { return m.o.meanListLength(typ, dir) > mostlyOne })
}

// leg reports whether plain edge i leads from a bound vertex to an unbound one, to.
func (m *matcher) leg(t *partialPlan, i int) (left bool, to plan.Col, ok bool) {
	e := &m.p.Edges[i]
	if t.edges[i] || e.Bound || e.Length != nil || e.Shortest != "" || e.Walk != nil {
		return false, 0, false
	}
	l, r := t.bound.Has(e.Left), t.bound.Has(e.Right)
	if l {
		return true, e.Right, !r
	}
	return false, e.Left, r
}

// edgeTest reports whether predicate i tests for an edge between vertex to and a bound one, and returns the latter and the
// direction from it.
func (m *matcher) edgeTest(t *partialPlan, i int, to plan.Col) (from plan.Col, dir graph.Direction, ok bool) {
	x, isTest := m.preds[i].e.(*plan.HasEdge)
	if t.preds[i] || !isTest {
		return 0, 0, false
	}
	if from, dir = x.OtherEnd(to); from == 0 {
		return 0, 0, false
	}
	return from, dir, !m.preds[i].cols.Has(from) || t.bound.Has(from)
}

// takeIntersect advances a partial plan by an intersection.
func (m *matcher) takeIntersect(t *partialPlan, s step) {
	e := &m.p.Edges[s.edge]
	from, to, dir := e.Expansion(s.left)
	fan := m.o.Fanout(e.Types, dir, m.guess[from], m.guess[to]) * m.skews(t, s.edge)
	read := m.o.Fanout(e.Types, dir, m.guess[from], nil) * m.skew(t, s.edge, from, dir)
	m.find(t, s.edge)
	var other, again float64
	if s.exists {
		x, _ := m.preds[s.pred].e.(*plan.HasEdge)
		from2, dir2, _ := m.edgeTest(t, s.pred, to)
		other, again = m.o.Fanout(x.Types, dir2, m.guess[from2], m.guess[to]), 1
		t.pass(s.pred)
	} else {
		e2 := &m.p.Edges[s.edge2]
		from2, _, dir2 := e2.Expansion(s.left2)
		other, again = m.o.Fanout(e2.Types, dir2, m.guess[from2], m.guess[to])*m.skew(t, s.edge2, from2, dir2), m.skew(t, s.edge2, to, dir2.Reverse())
		m.find(t, s.edge2)
		m.bind(t, e2.Col)
	}
	t.cost += t.card * min(read, other) * 0.05
	t.card *= fan * min(1, other*again/max(1, m.o.Vertices(m.guess[to])))
	m.bind(t, to, e.Col)
}

// intersect creates the node of an intersection.
func (b *builder) intersect(s step) {
	e := &b.m.p.Edges[s.edge]
	from, to, dir := e.Expansion(s.left)
	leg := func(i int, from plan.Col, dir graph.Direction) plan.Leg {
		e := &b.m.p.Edges[i]
		l := plan.Leg{From: from, Types: e.Types, Dir: dir, DistinctFrom: b.distinctFrom(i)}
		if b.keepsEdge(i) {
			l.Edge = e.Col
		}
		b.found(i)
		b.bind(e.Col)
		return l
	}
	x := &plan.Intersect{Input: b.node, To: to, Labels: b.m.labels[to], Legs: []plan.Leg{leg(s.edge, from, dir)}}
	if s.exists {
		test, _ := b.m.preds[s.pred].e.(*plan.HasEdge)
		from, dir := test.OtherEnd(to)
		x.Legs = append(x.Legs, plan.Leg{From: from, Types: test.Types, Dir: dir, Exists: true})
		b.used[s.pred] = true
	} else {
		from, _, dir := b.m.p.Edges[s.edge2].Expansion(s.left2)
		x.Legs = append(x.Legs, leg(s.edge2, from, dir))
	}
	b.m.o.fired(intersection)
	b.node = x
	b.bind(to)
}
