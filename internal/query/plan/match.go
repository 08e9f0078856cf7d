package plan

import (
	"cmp"
	"math"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// A matcher plans one pattern. It takes every vertex of the pattern as a starting point, completes each partial plan greedily
// by the step that leaves the fewest rows, and keeps the plan with the smallest sum of intermediate results: the classic
// left-deep ordering by cardinality (Selinger 1979, in the greedy form of Neumann 2009), over scans, seeks, expansions and, for
// cycles, intersections of the lists of two bound vertices and expansions into a bound vertex. Of large patterns only the
// maxStarts vertices that begin with the fewest rows are tried.
type matcher struct {
	o *optimizer
	p *Pattern
	// labels are the labels that the pattern requires; guess adds those that the types of the edges imply.
	labels, guess map[Col]*LabelExpr
	preds         []matchPred
	about         map[Col][]int // the predicates that read a column of the pattern, or a path that contains it; under 0, those that read none
	unlike        [][2]Col      // pairs of columns that the predicates require to differ
	exempt        []bool        // by edge: no other edge of its group can be the same edge
	// edges and tested belong to the partial plan before lookAhead, legs to intersections. Their memory is reused.
	edges, tested []bool
	legs          []leg
}

// maxStarts bounds the starting points of a search, each of which takes time quadratic in the pattern's size. A pattern of more than
// manyElements vertices and edges has fewer, so that all of them together take no longer than maxStarts of such a pattern, or than one.
const (
	maxStarts    = 16
	manyElements = 100
)

// maxMerged bounds the vertices and edges of a pattern that consecutive clauses are merged into.
const maxMerged = 200

// starts is how many starting points a search for the pattern tries.
func (p *Pattern) starts() int {
	size := max(p.size(), manyElements)
	return max(maxStarts*manyElements*manyElements/(size*size), 1)
}

// size is the number of vertices and edges of the pattern.
func (p *Pattern) size() int { return len(p.Vertices) + len(p.Edges) }

// work is the number of steps that one action on the pattern counts for.
func (p *Pattern) work() int { return 1 + (p.size()+len(p.Preds))/16 }

type matchPred struct {
	e    Expr
	cols ColSet // the pattern's columns that it reads and the input does not have
	sel  float64
	// implied says that the predicate follows from another: it may lead to an access but need not be tested.
	implied bool
}

type stepKind uint8

const (
	stepScan stepKind = iota
	stepSeek
	stepSeekEdge
	stepExpand
	stepIntersect
	stepBoundEdge
	stepShortest
)

// step is one action of a plan under construction.
type step struct {
	kind   stepKind
	vertex int // of stepScan and stepSeek
	edge   int
	left   bool // stepExpand starts at the edge's Left
	into   bool
	access access
	// The second leg of stepIntersect is edge2, from its Left if left2, or, where exists is set, the predicate pred.
	edge2, pred   int
	left2, exists bool
}

// partialPlan is a plan of a part of the pattern.
type partialPlan struct {
	bound ColSet // bound columns of the pattern
	edges []bool
	preds []bool
	card  float64
	cost  float64
	steps []step
	added []Col // added to bound since lookAhead began
}

// bind adds bound columns.
func (t *partialPlan) bind(cols ...Col) {
	for _, c := range cols {
		if c != 0 && !t.bound.Has(c) {
			t.bound.Add(c)
			t.added = append(t.added, c)
		}
	}
}

func (t *partialPlan) clone() *partialPlan {
	c := *t
	c.bound = ColSet{}
	for k := range t.bound {
		c.bound.Add(k)
	}
	c.edges, c.preds, c.steps, c.added = slices.Clone(t.edges), slices.Clone(t.preds), slices.Clone(t.steps), nil
	return &c
}

// match plans a pattern over input, which has the columns that the pattern calls bound.
func (o *optimizer) match(input Node, p *Pattern) Node {
	c := o.choose(p)
	if u := o.expandOr(input, p, c); u != nil {
		return u
	}
	return c.build(input)
}

// choice is the best plan of a pattern.
type choice struct {
	m           *matcher
	start, best *partialPlan
	elsewhere   bool // it does not start at the first vertex although it could
}

func (o *optimizer) choose(p *Pattern) *choice {
	c := &choice{}
	c.m, c.start = o.matcher(p)
	c.best, c.elsewhere = c.m.search(c.start)
	return c
}

func (c *choice) build(input Node) Node {
	b := &builder{m: c.m, node: input, bound: ColSet{}, used: make([]bool, len(c.m.preds)), paths: make([]bool, len(c.m.p.Paths))}
	for col := range c.start.bound {
		b.bound.Add(col)
	}
	if c.elsewhere {
		c.m.o.fired(startPoint)
	}
	b.left = len(c.best.steps)
	b.begin()
	for i, s := range c.best.steps {
		b.left = len(c.best.steps) - i - 1
		c.m.o.steps.Add(1 + (len(c.m.preds)+i)/4)
		b.step(s)
	}
	return b.node
}

// matcher creates a matcher and the partial plan that its search starts with.
func (o *optimizer) matcher(p *Pattern) (*matcher, *partialPlan) {
	m := &matcher{o: o, p: p, labels: map[Col]*LabelExpr{}, guess: map[Col]*LabelExpr{}}
	start := &partialPlan{bound: ColSet{}, edges: make([]bool, len(p.Edges)), card: 1}
	mine := ColSet{}
	for _, v := range p.Vertices {
		m.labels[v.Col] = v.Labels
		if v.Bound {
			start.bound.Add(v.Col)
		} else {
			mine.Add(v.Col)
		}
	}
	for _, v := range p.Vertices {
		o.steps.Add(1 + len(p.Edges)/4)
		m.guess[v.Col] = m.implied(v)
	}
	for _, e := range p.Edges {
		if o.edgeTypes[e.Col] = e.Types; len(e.Types) == 0 {
			o.edgeTypes[e.Col] = o.typeNames
		}
		if !e.Bound {
			mine.Add(e.binds()...)
		}
	}
	for _, path := range p.Paths {
		mine.Add(path.Col)
	}
	for _, e := range p.Preds {
		o.steps.Add(4)
		mp := matchPred{e: e, cols: ColSet{}, sel: o.selectivity(e, m.guess)}
		for c := range Reads(e) {
			if mine.Has(c) {
				mp.cols.Add(c)
			}
		}
		m.preds = append(m.preds, mp)
	}
	for _, e := range p.Preds {
		for _, in := range alternatives(e) {
			mp := matchPred{e: in, cols: ColSet{}, sel: 1, implied: true}
			for c := range Reads(in) {
				if mine.Has(c) {
					mp.cols.Add(c)
				}
			}
			m.preds = append(m.preds, mp)
		}
	}
	m.about = map[Col][]int{}
	for i, p := range m.preds {
		if len(p.cols) == 0 {
			m.about[0] = append(m.about[0], i)
		}
		for c := range p.cols {
			m.about[c] = append(m.about[c], i)
			for _, path := range m.p.Paths {
				if path.Col == c {
					for _, part := range path.Cols {
						m.about[part] = append(m.about[part], i)
					}
				}
			}
		}
	}
	start.preds = make([]bool, len(m.preds))
	m.findExempt()
	return m, start
}

// implied returns the rarest label that a vertex must have by the pattern, or that all ends of one of its edges' types have by the
// statistics. Only estimates use it.
func (m *matcher) implied(v PatVertex) *LabelExpr {
	best := v.Labels
	for _, e := range m.p.Edges {
		if len(e.Types) != 1 || e.Dir == graph.Both && e.Left != v.Col && e.Right != v.Col {
			continue
		}
		all := m.o.counts.ByType[e.Types[0]]
		for _, name := range m.o.labelNames {
			asSrc := m.o.counts.Ends[graph.TypeEnds{Src: name, Type: e.Types[0]}] == all
			asDst := m.o.counts.Ends[graph.TypeEnds{Type: e.Types[0], Dst: name}] == all
			var sure bool
			switch {
			case all == 0 || e.Left != v.Col && e.Right != v.Col:
			case e.Dir == graph.Both:
				sure = asSrc && asDst
			case (e.Dir == graph.Out) == (e.Left == v.Col):
				sure = asSrc
			default:
				sure = asDst
			}
			l := &LabelExpr{Name: name}
			if sure && (best == nil || m.o.vertices(l) < m.o.vertices(best)) {
				best = l
			}
		}
	}
	return best
}

// sameCost keeps rounding errors from deciding between plans of equal cost. A seek wins over the scan of the same vertex.
const sameCost = 1 - 1e-9

// search returns the best plan, and whether it starts elsewhere than at the first vertex although it could start there.
func (m *matcher) search(start *partialPlan) (best *partialPlan, elsewhere bool) {
	starts := m.actions(start)
	if len(starts) == 0 {
		return start, false
	}
	written := func(s step) bool { return (s.kind == stepScan || s.kind == stepSeek) && s.vertex == 0 }
	if m.o.off(startPoint) && slices.ContainsFunc(starts, written) {
		starts = slices.DeleteFunc(starts, func(s step) bool { return !written(s) })
	}
	for _, s := range m.fewest(start, starts) {
		t := start.clone()
		m.take(t, s)
		for {
			m.o.steps.Add(m.p.work())
			next := m.actions(t)
			if len(next) == 0 {
				break
			}
			chosen, fewest, least := -1, 0.0, 0.0
			for i, s := range next {
				m.o.steps.Add(1)
				if card, cost := m.lookAhead(t, s); chosen < 0 || card < fewest || card == fewest && cost < least {
					chosen, fewest, least = i, card, cost
				}
			}
			m.take(t, next[chosen])
			if best != nil && t.cost >= best.cost*sameCost {
				break
			}
		}
		if best == nil || t.cost < best.cost*sameCost {
			best = t
		}
	}
	return best, slices.ContainsFunc(starts, written) && !written(best.steps[0])
}

// fewest returns those of starts, up to Pattern.starts, that leave the fewest rows, in their order.
func (m *matcher) fewest(t *partialPlan, starts []step) []step {
	most := m.p.starts()
	if len(starts) <= most {
		return starts
	}
	cards := make([]float64, len(starts))
	order := make([]int, len(starts))
	for i, s := range starts {
		order[i] = i
		m.o.steps.Add(m.p.work())
		cards[i], _ = m.lookAhead(t, s)
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(cards[i], cards[j]) })
	order = order[:most]
	slices.Sort(order)
	few := make([]step, len(order))
	for i, at := range order {
		few[i] = starts[at]
	}
	return few
}

// lookAhead returns the rows and the cost of a partial plan after one more step.
func (m *matcher) lookAhead(t *partialPlan, s step) (card, cost float64) {
	before := *t
	m.edges, m.tested = append(m.edges[:0], t.edges...), append(m.tested[:0], t.preds...)
	t.added = t.added[:0]
	m.take(t, s)
	card, cost = t.card, t.cost
	for _, c := range t.added {
		delete(t.bound, c)
	}
	copy(t.edges, m.edges)
	copy(t.preds, m.tested)
	t.card, t.cost, t.steps = before.card, before.cost, before.steps
	return card, cost
}

// actions lists the possible next steps: expansions from bound vertices and seeks; scans only if there is no other.
func (m *matcher) actions(t *partialPlan) []step {
	var steps []step
	shortest := -1
	for i, e := range m.p.Edges {
		if t.edges[i] {
			continue
		}
		if e.Bound {
			return []step{{kind: stepBoundEdge, edge: i}}
		}
		l, r := t.bound.Has(e.Left), t.bound.Has(e.Right)
		if e.Shortest != "" {
			if l && r && shortest < 0 {
				shortest = i
			}
			continue
		}
		if l {
			steps = append(steps, step{kind: stepExpand, edge: i, left: true, into: r})
		}
		if r && (!l || e.Length == nil) && e.Left != e.Right {
			steps = append(steps, step{kind: stepExpand, edge: i, left: false, into: l})
		}
	}
	steps = m.intersections(t, steps)
	for i, e := range m.p.Edges {
		if t.edges[i] || e.Bound || t.bound.Has(e.Left) || t.bound.Has(e.Right) {
			continue
		}
		if a, ok := m.edgeAccess(t, i); ok {
			steps = append(steps, step{kind: stepSeekEdge, edge: i, access: a})
		}
	}
	for i, v := range m.p.Vertices {
		if t.bound.Has(v.Col) {
			continue
		}
		if a, ok := m.access(t, i); ok {
			steps = append(steps, step{kind: stepSeek, vertex: i, access: a})
		}
	}
	if len(t.steps) > 0 && len(steps) > 0 {
		return steps
	}
	if len(steps) > 0 && len(t.bound) > 0 {
		return steps
	}
	for i, v := range m.p.Vertices {
		if !t.bound.Has(v.Col) {
			steps = append(steps, step{kind: stepScan, vertex: i})
		}
	}
	if len(steps) == 0 && shortest >= 0 {
		steps = append(steps, step{kind: stepShortest, edge: shortest})
	}
	return steps
}

// take advances a partial plan by a step and updates its estimates.
func (m *matcher) take(t *partialPlan, s step) {
	t.steps = append(t.steps, s)
	before, since := t.card, len(t.added)
	switch s.kind {
	case stepScan:
		v := m.p.Vertices[s.vertex]
		t.bind(v.Col)
		n := m.o.vertices(v.Labels)
		if m.o.q.Writes {
			n = max(n, minNewVertices)
		}
		t.card *= n
	case stepSeek:
		t.bind(m.p.Vertices[s.vertex].Col)
		t.card *= s.access.rows
		for _, i := range s.access.preds {
			t.preds[i] = true
		}
	case stepSeekEdge:
		e := m.p.Edges[s.edge]
		t.edges[s.edge] = true
		t.bind(e.Col, e.Left, e.Right)
		t.card *= s.access.rows
		t.cost += s.access.cost
		for _, i := range s.access.preds {
			t.preds[i] = true
		}
		// Reading the edges comes before testing the labels and predicates of their ends.
		t.cost += t.card
		if len(e.Types) == 1 {
			t.card *= m.o.share(e.Types[0], e.Dir != graph.In, m.labels[e.Left]) * m.o.share(e.Types[0], e.Dir == graph.In, m.labels[e.Right])
		}
	case stepBoundEdge:
		e := m.p.Edges[s.edge]
		t.edges[s.edge] = true
		t.bind(e.Col, e.Left, e.Right)
	case stepShortest:
		e := m.p.Edges[s.edge]
		t.edges[s.edge] = true
		t.bind(e.Col)
		t.cost += t.card * 1000
	case stepIntersect:
		m.takeIntersect(t, s)
	case stepExpand:
		e := m.p.Edges[s.edge]
		t.edges[s.edge] = true
		from, to, dir := e.Left, e.Right, e.Dir
		if !s.left {
			from, to, dir = e.Right, e.Left, e.Dir.Reverse()
		}
		fan := m.o.fanout(e.Types, dir, m.guess[from], m.guess[to])
		if e.Length != nil {
			fan = m.o.varFanout(e.Types, dir, m.guess[from], m.guess[to], e.Length)
		}
		if s.into {
			// Lists are read on one side and searched, so the cost is that of the shorter list.
			t.cost += before * min(fan, 8)
			fan /= max(1, m.o.vertices(m.guess[to]))
			fan = min(fan*m.skews(t, s.edge), 1)
		} else {
			// Reading the list comes before testing the labels and predicates of the far end.
			t.cost += before * m.o.fanout(e.Types, dir, m.guess[from], nil) * m.skew(t, s.edge, from, dir) * edgeCost
			fan *= m.skews(t, s.edge)
		}
		t.card *= fan
		t.bind(to)
		t.bind(e.binds()...)
	}
	if len(t.steps) == 1 {
		m.test(t, 0)
	}
	for _, c := range t.added[since:] {
		m.test(t, c)
	}
	t.card = max(t.card, 1e-9)
	t.cost += t.card
}

// test applies the predicates on a column that can be tested.
func (m *matcher) test(t *partialPlan, c Col) {
	for _, i := range m.about[c] {
		if p := &m.preds[i]; !t.preds[i] && m.ready(p.cols, t.bound) {
			t.preds[i] = true
			t.card *= p.sel
		}
	}
}

// ready reports whether all of cols are bound; a path is bound when its parts are.
func (m *matcher) ready(cols, bound ColSet) bool {
	for c := range cols {
		if bound.Has(c) {
			continue
		}
		i := slices.IndexFunc(m.p.Paths, func(p PatPath) bool { return p.Col == c })
		if i < 0 {
			return false
		}
		for _, part := range m.p.Paths[i].Cols {
			if !bound.Has(part) {
				return false
			}
		}
	}
	return true
}

// varFanout estimates the trails of variable length from a vertex with labels from to vertices with labels to. There are as many
// from one end as from the other, so it is the lesser of what both suggest.
func (o *optimizer) varFanout(types []string, dir graph.Direction, from, to *LabelExpr, l *Length) float64 {
	sources, targets := max(1, o.vertices(from)), max(1, o.vertices(to))
	trails := powers(o.fanout(types, dir, from, to), l, targets)
	if to == nil {
		return trails // the average over all vertices says nothing of the ends
	}
	return min(trails, powers(o.fanout(types, dir.Reverse(), to, from), l, sources)*targets/sources)
}

// powers is the sum of the powers of a fan-out over the bounds of a variable length, limited to a few scans of all vertices.
func powers(fan float64, l *Length, all float64) float64 {
	lo, hi := bound(l.Min, 1), bound(l.Max, 6)
	total := 0.0
	for k := lo; k <= min(hi, lo+8); k++ {
		total += math.Pow(fan, float64(k))
	}
	return min(total, 4*all+fan)
}

// bound is a constant bound of a length, or a guess.
func bound(e Expr, guess int64) int64 {
	if c, ok := e.(*Const); ok && c.Value.Kind() == graph.Int {
		return c.Value.Int()
	}
	return guess
}

// findExempt finds the edges that relationship uniqueness does not constrain: those whose types no other edge of their clause
// can have, and those whose far ends are required to differ from those of other edges at the same vertex.
func (m *matcher) findExempt() {
	m.exempt = make([]bool, len(m.p.Edges))
	for _, p := range m.preds {
		if x, y, ok := unequal(p.e); ok {
			m.unlike = append(m.unlike, [2]Col{x, y})
		}
	}
	for i := range m.p.Edges {
		m.exempt[i] = true
		for j := range m.p.Edges {
			m.o.steps.Add(1 + len(m.unlike)/16)
			if i != j && m.mayBeSame(i, j) {
				m.exempt[i] = false
				break
			}
		}
	}
}

// mayBeSame reports whether two edges can be the same edge.
func (m *matcher) mayBeSame(i, j int) bool {
	a, b := &m.p.Edges[i], &m.p.Edges[j]
	if a.Group != b.Group || a.Shortest != "" || b.Shortest != "" {
		return false
	}
	if len(a.Types) > 0 && len(b.Types) > 0 && !slices.ContainsFunc(a.Types, func(t string) bool { return slices.Contains(b.Types, t) }) {
		return false
	}
	if a.Length != nil || b.Length != nil {
		return true
	}
	// An edge has one source and one target: if those of a and b must differ, a and b differ.
	for _, pair := range m.unlike {
		x, y := pair[0], pair[1]
		if a.Dir != graph.Both && b.Dir != graph.Both {
			as, at := a.ends()
			bs, bt := b.ends()
			if as == x && bs == y || as == y && bs == x || at == x && bt == y || at == y && bt == x {
				return false
			}
		}
		for _, s := range [][4]Col{
			{a.Left, a.Right, b.Left, b.Right},
			{a.Left, a.Right, b.Right, b.Left},
			{a.Right, a.Left, b.Left, b.Right},
			{a.Right, a.Left, b.Right, b.Left},
		} {
			if s[0] == s[2] && (s[1] == x && s[3] == y || s[1] == y && s[3] == x) {
				return false
			}
		}
	}
	return true
}

// equation recognises v.k = x, id(v) = x and elementId(v) = x, with either operand first.
func equation(e Expr) (term, value Expr, ok bool) {
	eq, isOp := e.(*Op)
	if !isOp || eq.Op != Eq {
		return nil, nil, false
	}
	for i, arg := range eq.Args {
		if _, _, ok := termOf(arg); ok {
			return arg, eq.Args[1-i], true
		}
	}
	return nil, nil, false
}

// termOf recognises the keys of indexes and ids: a property of a column, or its id.
func termOf(e Expr) (col Col, name string, ok bool) {
	var of Expr
	switch e := e.(type) {
	case *Prop:
		of, name = e.X, "."+e.Key
	case *Call:
		if len(e.Args) != 1 || e.Func != "id" && e.Func != "elementid" {
			return 0, "", false
		}
		of, name = e.Args[0], e.Func
	default:
		return 0, "", false
	}
	c, ok := of.(*ColRef)
	if !ok {
		return 0, "", false
	}
	return c.Col, name, true
}

func sameTerm(a, b Expr) bool {
	x, k, _ := termOf(a)
	y, l, _ := termOf(b)
	return x == y && k == l
}

// ends returns the columns of the source and the target of an edge with a direction.
func (e *PatEdge) ends() (src, dst Col) {
	if e.Dir == graph.In {
		return e.Right, e.Left
	}
	return e.Left, e.Right
}

// unequal recognises a <> b and NOT a = b over columns.
func unequal(e Expr) (x, y Col, ok bool) {
	op, isOp := e.(*Op)
	if isOp && op.Op == Not {
		op, isOp = op.Args[0].(*Op)
		if !isOp || op.Op != Eq {
			return 0, 0, false
		}
	} else if !isOp || op.Op != Ne {
		return 0, 0, false
	}
	a, okA := op.Args[0].(*ColRef)
	b, okB := op.Args[1].(*ColRef)
	if !okA || !okB {
		return 0, 0, false
	}
	return a.Col, b.Col, true
}
