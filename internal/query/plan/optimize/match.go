package optimize

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// A matcher plans one pattern. It takes every vertex of the pattern as a starting point, completes each partial plan greedily
// by the step that leaves the fewest rows, and keeps the plan with the smallest sum of intermediate results: the classic
// left-deep ordering by cardinality (Selinger 1979, in the greedy form of Neumann 2009), over scans, seeks, expansions and, for
// cycles, intersections of the lists of two bound vertices and expansions into a bound vertex. Of large patterns only the
// maxStarts vertices that begin with the fewest rows are tried, and of still larger ones a part is planned after the other.
type matcher struct {
	o *optimizer
	p *plan.Pattern
	// labels are the labels that the pattern requires; guess adds those that the types of the edges imply.
	labels, guess map[plan.Col]*plan.LabelExpr
	preds         []matchPred
	about         map[plan.Col][]int       // the predicates that read a column of the pattern, or a path that contains it; under 0, those that read none
	links         map[plan.Col][]int       // the predicates HasEdge, by their ends
	at            map[plan.Col][]int       // the edges at a vertex
	paths         map[plan.Col][]int       // the paths that contain a column
	unlike        map[[2]plan.Col]struct{} // pairs of columns that the predicates require to differ, in both orders
	exempt        []bool                   // by edge: no other edge of its group can be the same edge
	reads         [][]plan.Col             // by edge: the pattern's columns that must be bound before it is followed, its ends among them
	part          part                     // what search looks for
	legs          []leg                    // memory of intersections
}

// part is a part of a pattern: places in Pattern.Vertices and Pattern.Edges, in ascending order.
type part struct{ vertices, edges []int }

// maxStarts bounds the starting points of a search, each of which takes time quadratic in the pattern's size. A pattern of more than
// manyElements vertices and edges has fewer, so that all of them together take no longer than maxStarts of such a pattern, or than one.
const (
	maxStarts    = 16
	manyElements = 100
)

// maxMerged bounds the vertices and edges of a pattern that consecutive clauses are merged into, and of one that is planned as a whole.
const maxMerged = 200

// work is the number of steps that listing the actions on the part counts for.
func (m *matcher) work() int { return 1 + (len(m.part.vertices)+len(m.part.edges))/4 }

type matchPred struct {
	e    plan.Expr
	cols plan.ColSet // the pattern's columns that it reads and the input does not have
	// needs is the number of columns that are bound before it can be tested: cols, with the parts of a path instead of the path.
	needs int
	sel   float64
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
	bound plan.ColSet // bound columns of the pattern
	edges []bool
	preds []bool
	waits []int        // by predicate: how many of its matchPred.needs are not bound
	lists map[list]int // the number of edges of a list that are in the plan
	card  float64
	cost  float64
	steps []step
	// What lookAhead takes back: columns that were bound, edges that were found, and predicates that were tested.
	added         []plan.Col
	found, tested []int
}

// list is the edges of a type at a vertex, in a direction from there.
type list struct {
	at  plan.Col
	typ string
	dir graph.Direction
}

// bind adds bound columns.
func (m *matcher) bind(t *partialPlan, cols ...plan.Col) {
	for _, c := range cols {
		if c != 0 && !t.bound.Has(c) {
			t.bound.Add(c)
			t.added = append(t.added, c)
			for _, i := range m.about[c] {
				t.waits[i]--
			}
		}
	}
}

// find adds an edge.
func (m *matcher) find(t *partialPlan, edge int) {
	t.edges[edge] = true
	t.found = append(t.found, edge)
	m.count(t, edge, 1)
}

// count adds n to the number of edges of the lists of an edge.
func (m *matcher) count(t *partialPlan, edge, n int) {
	e := &m.p.Edges[edge]
	if len(e.Types) != 1 || e.Length != nil {
		return
	}
	l, r := list{e.Left, e.Types[0], e.Dir}, list{e.Right, e.Types[0], e.Dir.Reverse()}
	if t.lists[l] += n; l != r {
		t.lists[r] += n
	}
}

// pass notes that a predicate is tested.
func (t *partialPlan) pass(preds ...int) {
	for _, i := range preds {
		if !t.preds[i] {
			t.preds[i] = true
			t.tested = append(t.tested, i)
		}
	}
}

func (t *partialPlan) clone() *partialPlan {
	c := *t
	c.bound, c.lists = t.bound.Clone(), maps.Clone(t.lists)
	c.edges, c.preds, c.waits, c.steps = slices.Clone(t.edges), slices.Clone(t.preds), slices.Clone(t.waits), slices.Clone(t.steps)
	c.added, c.found, c.tested = nil, nil, nil
	return &c
}

// match plans a pattern over input, which has the columns that the pattern calls bound.
func (o *optimizer) match(input plan.Node, p *plan.Pattern) plan.Node {
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

func (o *optimizer) choose(p *plan.Pattern) *choice {
	c := &choice{}
	c.m, c.start = o.matcher(p)
	c.best, c.elsewhere = c.m.search(c.start)
	return c
}

func (c *choice) build(input plan.Node) plan.Node {
	b := newBuilder(c.m, input, c.start)
	if c.elsewhere {
		c.m.o.fired(startPoint)
	}
	b.left = len(c.best.steps)
	b.begin()
	for i, s := range c.best.steps {
		b.left = len(c.best.steps) - i - 1
		c.m.o.Steps.Add(1)
		b.step(s)
	}
	c.m.o.subplans[b.node] = b.sub
	return b.node
}

// matcher creates a matcher and the partial plan that its search starts with.
func (o *optimizer) matcher(p *plan.Pattern) (*matcher, *partialPlan) {
	m := &matcher{
		o: o, p: p, labels: map[plan.Col]*plan.LabelExpr{}, guess: map[plan.Col]*plan.LabelExpr{}, about: map[plan.Col][]int{}, links: map[plan.Col][]int{},
		at: map[plan.Col][]int{}, paths: map[plan.Col][]int{},
	}
	start := &partialPlan{bound: plan.NewColSet(), edges: make([]bool, len(p.Edges)), lists: map[list]int{}, card: 1}
	mine := plan.NewColSet()
	for i := range p.Edges {
		e := &p.Edges[i]
		if m.at[e.Left] = append(m.at[e.Left], i); e.Right != e.Left {
			m.at[e.Right] = append(m.at[e.Right], i)
		}
	}
	path := map[plan.Col]*plan.PatPath{}
	for i := range p.Paths {
		path[p.Paths[i].Col] = &p.Paths[i]
		for _, c := range p.Paths[i].Cols {
			if in := m.paths[c]; len(in) == 0 || in[len(in)-1] != i {
				m.paths[c] = append(in, i)
			}
		}
		o.Steps.Add(1 + len(p.Paths[i].Cols)/4)
	}
	for _, v := range p.Vertices {
		m.labels[v.Col] = v.Labels
		if v.Bound {
			start.bound.Add(v.Col)
		} else {
			mine.Add(v.Col)
		}
	}
	for _, v := range p.Vertices {
		o.Steps.Add(1 + len(m.at[v.Col])*len(o.labelNames)/4)
		m.guess[v.Col] = m.implied(v)
	}
	for _, e := range p.Edges {
		if o.EdgeTypes[e.Col] = e.Types; len(e.Types) == 0 {
			o.EdgeTypes[e.Col] = o.TypeNames
		}
		if !e.Bound {
			mine.Add(e.Binds()...)
		}
	}
	for _, path := range p.Paths {
		mine.Add(path.Col)
	}
	for i := range p.Edges {
		m.reads = append(m.reads, readBefore(&p.Edges[i], mine, path))
	}
	add := func(mp matchPred) {
		o.Steps.Add(4)
		i := len(m.preds)
		mp.cols = plan.NewColSet()
		needs := plan.NewColSet()
		for c := range plan.Reads(mp.e).All() {
			if !mine.Has(c) {
				continue
			}
			mp.cols.Add(c)
			if path := path[c]; path != nil {
				o.Steps.Add(len(path.Cols) / 4)
				needs.Add(path.Cols...)
			} else {
				needs.Add(c)
			}
		}
		if mp.cols.Len() == 0 {
			m.about[0] = append(m.about[0], i)
		}
		for c := range needs.All() {
			m.about[c] = append(m.about[c], i)
			if !start.bound.Has(c) {
				mp.needs++
			}
		}
		if x, ok := mp.e.(*plan.HasEdge); ok {
			for _, end := range []plan.Expr{x.From, x.To} {
				if c, ok := end.(*plan.ColRef); ok {
					m.links[c.Col] = append(m.links[c.Col], i)
				}
			}
		}
		m.preds, start.waits = append(m.preds, mp), append(start.waits, mp.needs)
	}
	for _, e := range p.Preds {
		add(matchPred{e: e, sel: o.Selectivity(e, m.guess)})
	}
	for _, e := range p.Preds {
		for _, in := range alternatives(e) {
			add(matchPred{e: in, sel: 1, implied: true})
		}
	}
	start.preds = make([]bool, len(m.preds))
	m.findExempt()
	return m, start
}

// readBefore returns the columns of a pattern that an edge of variable length reads, with the parts of a path instead of the path.
func readBefore(e *plan.PatEdge, mine plan.ColSet, path map[plan.Col]*plan.PatPath) (cols []plan.Col) {
	for c := range e.Reads().All() {
		if p := path[c]; p != nil {
			cols = append(cols, p.Cols...)
		} else if mine.Has(c) {
			cols = append(cols, c)
		}
	}
	return cols
}

// ready reports whether a plan has bound what an edge reads, other than the vertex where its expansion starts.
func (m *matcher) ready(t *partialPlan, edge int, from plan.Col) bool {
	return !slices.ContainsFunc(m.reads[edge], func(c plan.Col) bool { return c != from && !t.bound.Has(c) })
}

// implied returns the rarest label that a vertex must have by the pattern, or that all ends of one of its edges' types have by the
// statistics. Only estimates use it.
func (m *matcher) implied(v plan.PatVertex) *plan.LabelExpr {
	best := v.Labels
	for _, i := range m.at[v.Col] {
		e := &m.p.Edges[i]
		if len(e.Types) != 1 {
			continue
		}
		all := m.o.Counts.ByType[e.Types[0]]
		for _, name := range m.o.labelNames {
			asSrc := m.o.Counts.Ends[graph.TypeEnds{Src: name, Type: e.Types[0]}] == all
			asDst := m.o.Counts.Ends[graph.TypeEnds{Type: e.Types[0], Dst: name}] == all
			var sure bool
			switch {
			case all == 0:
			case e.Dir == graph.Both:
				sure = asSrc && asDst
			case (e.Dir == graph.Out) == (e.Left == v.Col):
				sure = asSrc
			default:
				sure = asDst
			}
			l := &plan.LabelExpr{Name: name}
			if sure && (best == nil || m.o.Vertices(l) < m.o.Vertices(best)) {
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
	parts := m.parts(start)
	m.part = parts[0]
	best, elsewhere = m.searchPart(start)
	for _, m.part = range parts[1:] {
		best, _ = m.searchPart(best)
	}
	if len(parts) > 1 { // edges whose conditions read what a later part binds
		m.part = part{edges: numbers(len(m.p.Edges))}
		best, _ = m.searchPart(best)
	}
	return best, elsewhere
}

// parts divides the pattern into parts that are planned one after the other, since the time to plan a part grows with the square of its
// size. A part begins with what the input binds, or with the vertex that leaves the fewest rows, and grows along the edges from there.
func (m *matcher) parts(start *partialPlan) []part {
	m.part = part{vertices: numbers(len(m.p.Vertices)), edges: numbers(len(m.p.Edges))}
	if size(m.p) <= maxMerged {
		return []part{m.part}
	}
	place := make(map[plan.Col]int, len(m.p.Vertices))
	for i, v := range m.p.Vertices {
		place[v.Col] = i
	}
	var parts []part
	var now part
	vertices, edges := make([]bool, len(m.p.Vertices)), make([]bool, len(m.p.Edges))
	// grow adds what is connected with a vertex, level by level.
	grow := func(from int) {
		for reached := []int{from}; len(reached) > 0; reached = reached[1:] {
			v := reached[0]
			if vertices[v] {
				continue
			}
			if len(now.vertices)+len(now.edges) >= manyElements {
				parts, now = append(parts, now), part{}
			}
			vertices[v] = true
			now.vertices = append(now.vertices, v)
			for _, i := range m.at[m.p.Vertices[v].Col] {
				m.o.Steps.Add(1)
				e := &m.p.Edges[i]
				l, r := place[e.Left], place[e.Right]
				if reached = append(reached, l, r); vertices[l] && vertices[r] && !edges[i] {
					edges[i] = true
					now.edges = append(now.edges, i)
				}
				if len(now.edges) >= manyElements { // the first of them leads to the vertex
					parts, now = append(parts, now), part{}
				}
			}
		}
	}
	var starts []step
	for i, v := range m.p.Vertices {
		if v.Bound {
			grow(i)
		} else if a, ok := m.access(start, i); ok {
			starts = append(starts, step{kind: stepSeek, vertex: i, access: a})
		} else {
			starts = append(starts, step{kind: stepScan, vertex: i})
		}
	}
	for i, e := range m.p.Edges {
		if e.Bound {
			grow(place[e.Left])
		} else if a, ok := m.edgeAccess(start, i); ok {
			starts = append(starts, step{kind: stepSeekEdge, vertex: place[e.Left], edge: i, access: a})
		}
	}
	for _, i := range m.byRows(start, starts) {
		grow(starts[i].vertex)
	}
	parts = append(parts, now)
	for _, p := range parts {
		slices.Sort(p.vertices)
		slices.Sort(p.edges)
	}
	return parts
}

// numbers returns the numbers below n.
func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// searchPart completes a plan by a part of the pattern.
func (m *matcher) searchPart(start *partialPlan) (best *partialPlan, elsewhere bool) {
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
			m.o.Steps.Add(m.work())
			next := m.actions(t)
			if len(next) == 0 {
				break
			}
			chosen, fewest, least := -1, 0.0, 0.0
			for i, s := range next {
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
	return best, slices.ContainsFunc(starts, written) && !written(best.steps[len(start.steps)])
}

// fewest returns those of starts, up to Pattern.starts, that leave the fewest rows, in their order.
func (m *matcher) fewest(t *partialPlan, starts []step) []step {
	most := startsOf(m.p)
	if len(starts) <= most {
		return starts
	}
	order := m.byRows(t, starts)[:most]
	slices.Sort(order)
	few := make([]step, len(order))
	for i, at := range order {
		few[i] = starts[at]
	}
	return few
}

// byRows returns the places of steps in the order of the rows that they leave, the fewest first.
func (m *matcher) byRows(t *partialPlan, steps []step) []int {
	cards := make([]float64, len(steps))
	for i, s := range steps {
		cards[i], _ = m.lookAhead(t, s)
	}
	order := numbers(len(steps))
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(cards[i], cards[j]) })
	return order
}

// lookAhead returns the rows and the cost of a partial plan after one more step.
func (m *matcher) lookAhead(t *partialPlan, s step) (card, cost float64) {
	before := *t
	t.added, t.found, t.tested = t.added[:0], t.found[:0], t.tested[:0]
	m.take(t, s)
	m.o.Steps.Add(1 + (len(t.added)+len(t.tested))/4)
	card, cost = t.card, t.cost
	for _, c := range t.added {
		t.bound.Remove(c)
		for _, i := range m.about[c] {
			t.waits[i]++
		}
	}
	for _, i := range t.found {
		t.edges[i] = false
		m.count(t, i, -1)
	}
	for _, i := range t.tested {
		t.preds[i] = false
	}
	t.card, t.cost, t.steps = before.card, before.cost, t.steps[:len(before.steps)]
	return card, cost
}

// actions lists the possible next steps: expansions from bound vertices and seeks; scans only if there is no other.
func (m *matcher) actions(t *partialPlan) []step {
	var steps []step
	shortest, open := -1, -1
	for _, i := range m.part.edges {
		e := &m.p.Edges[i]
		if t.edges[i] {
			continue
		}
		open = i
		if e.Bound && m.ready(t, i, e.Left) {
			return []step{{kind: stepBoundEdge, edge: i}}
		}
		l, r := t.bound.Has(e.Left), t.bound.Has(e.Right)
		if e.Shortest != "" {
			if l && r && (shortest < 0 || m.ready(t, i, 0) && !m.ready(t, shortest, 0)) {
				shortest = i
			}
			continue
		}
		if e.Bound {
			continue
		}
		if l && m.ready(t, i, e.Left) {
			steps = append(steps, step{kind: stepExpand, edge: i, left: true, into: r})
		}
		if r && (!l || e.Length == nil) && e.Left != e.Right && m.ready(t, i, e.Right) {
			steps = append(steps, step{kind: stepExpand, edge: i, left: false, into: l})
		}
	}
	steps = m.intersections(t, steps)
	for _, i := range m.part.edges {
		e := &m.p.Edges[i]
		if t.edges[i] || e.Bound || t.bound.Has(e.Left) || t.bound.Has(e.Right) {
			continue
		}
		if a, ok := m.edgeAccess(t, i); ok {
			steps = append(steps, step{kind: stepSeekEdge, edge: i, access: a})
		}
	}
	for _, i := range m.part.vertices {
		if t.bound.Has(m.p.Vertices[i].Col) {
			continue
		}
		if a, ok := m.access(t, i); ok {
			steps = append(steps, step{kind: stepSeek, vertex: i, access: a})
		}
	}
	if len(t.steps) > 0 && len(steps) > 0 {
		return steps
	}
	if len(steps) > 0 && t.bound.Len() > 0 {
		return steps
	}
	for _, i := range m.part.vertices {
		if !t.bound.Has(m.p.Vertices[i].Col) {
			steps = append(steps, step{kind: stepScan, vertex: i})
		}
	}
	switch {
	case len(steps) > 0:
	case shortest >= 0:
		return []step{{kind: stepShortest, edge: shortest}}
	case open >= 0 && len(m.part.edges) == len(m.p.Edges): // edges that read each other: following one fails, leaving one out would not
		return []step{{kind: stepExpand, edge: open, left: true, into: true}}
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
		m.bind(t, v.Col)
		n := m.o.Vertices(v.Labels) * m.o.shown(v.Labels)
		if m.o.Query.Writes {
			n = max(n, plan.MinNewVertices)
		}
		t.card *= n
	case stepSeek:
		v := m.p.Vertices[s.vertex]
		m.bind(t, v.Col)
		t.card *= s.access.rows * m.o.shown(v.Labels)
		t.pass(s.access.preds...)
	case stepSeekEdge:
		e := m.p.Edges[s.edge]
		m.find(t, s.edge)
		m.bind(t, e.Col, e.Left, e.Right)
		t.card *= s.access.rows
		t.cost += s.access.cost
		t.pass(s.access.preds...)
		// Reading the edges comes before testing the labels and predicates of their ends.
		t.cost += t.card
		if len(e.Types) == 1 {
			t.card *= m.o.Share(e.Types[0], e.Dir != graph.In, m.labels[e.Left]) * m.o.Share(e.Types[0], e.Dir == graph.In, m.labels[e.Right])
		}
	case stepBoundEdge:
		e := m.p.Edges[s.edge]
		m.find(t, s.edge)
		m.bind(t, e.Col, e.Left, e.Right)
	case stepShortest:
		e := m.p.Edges[s.edge]
		m.find(t, s.edge)
		m.bind(t, e.Col)
		t.cost += t.card * 1000
	case stepIntersect:
		m.takeIntersect(t, s)
	case stepExpand:
		e := m.p.Edges[s.edge]
		from, to, dir := e.Left, e.Right, e.Dir
		if !s.left {
			from, to, dir = e.Right, e.Left, e.Dir.Reverse()
		}
		fan := m.o.Fanout(e.Types, dir, m.guess[from], m.guess[to])
		if e.Length != nil {
			fan = m.o.VarFanout(e.Types, dir, m.guess[from], m.guess[to], e.Length)
		}
		if s.into {
			// Lists are read on one side and searched, so the cost is that of the shorter list.
			t.cost += before * min(fan, 8)
			fan /= max(1, m.o.Vertices(m.guess[to]))
			fan = min(fan*m.skews(t, s.edge), 1)
		} else {
			// Reading the list comes before testing the labels and predicates of the far end.
			t.cost += before * m.o.Fanout(e.Types, dir, m.guess[from], nil) * m.skew(t, s.edge, from, dir) * plan.EdgeCost
			fan *= m.skews(t, s.edge)
		}
		t.card *= fan
		m.find(t, s.edge)
		m.bind(t, to)
		m.bind(t, e.Binds()...)
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
func (m *matcher) test(t *partialPlan, c plan.Col) {
	for _, i := range m.about[c] {
		if !t.preds[i] && t.waits[i] == 0 {
			t.pass(i)
			t.card *= m.preds[i].sel
		}
	}
}

// findExempt finds the edges that relationship uniqueness does not constrain: those whose types no other edge of their clause
// can have, and those whose far ends are required to differ from those of other edges at the same vertex.
func (m *matcher) findExempt() {
	m.exempt, m.unlike = make([]bool, len(m.p.Edges)), map[[2]plan.Col]struct{}{}
	for _, p := range m.preds {
		if x, y, ok := unequal(p.e); ok {
			m.unlike[[2]plan.Col{x, y}], m.unlike[[2]plan.Col{y, x}] = struct{}{}, struct{}{}
		}
	}
	edges := edgesByType{}
	for i := range m.p.Edges {
		edges.add(&m.p.Edges[i], i)
	}
	for i := range m.p.Edges {
		m.exempt[i] = true
		edges.like(&m.p.Edges[i], func(j int) bool {
			m.o.Steps.Add(1)
			m.exempt[i] = i == j || !m.mayBeSame(i, j)
			return m.exempt[i]
		})
	}
}

// edgesByType finds the edges that can have a type in common with another one of their clause.
type edgesByType map[groupType][]int

type groupType struct {
	group int
	typ   string // or untyped, of edges that may have any type, or typed, of the others
}

const untyped, typed = "", "\x00"

func (s edgesByType) add(e *plan.PatEdge, i int) {
	class := typed
	if len(e.Types) == 0 {
		class = untyped
	}
	for _, t := range append([]string{class}, e.Types...) {
		k := groupType{e.Group, t}
		s[k] = append(s[k], i)
	}
}

// like calls f with the edges that can have a type in common with e until it returns false. Some may come repeatedly.
func (s edgesByType) like(e *plan.PatEdge, f func(i int) bool) {
	types := append([]string{untyped}, e.Types...)
	if len(e.Types) == 0 {
		types = append(types, typed)
	}
	for _, t := range types {
		for _, i := range s[groupType{e.Group, t}] {
			if !f(i) {
				return
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
	if a.Length != nil || b.Length != nil || len(m.unlike) == 0 {
		return true
	}
	differ := func(x, y plan.Col) bool {
		_, ok := m.unlike[[2]plan.Col{x, y}]
		return ok
	}
	// An edge has one source and one target: if those of a and b must differ, a and b differ.
	if a.Dir != graph.Both && b.Dir != graph.Both {
		as, at := a.Ends()
		bs, bt := b.Ends()
		if differ(as, bs) || differ(at, bt) {
			return false
		}
	}
	return !(a.Left == b.Left && differ(a.Right, b.Right) || a.Left == b.Right && differ(a.Right, b.Left) ||
		a.Right == b.Left && differ(a.Left, b.Right) || a.Right == b.Right && differ(a.Left, b.Left))
}

// equation recognises v.k = x, id(v) = x and elementId(v) = x, with either operand first.
func equation(e plan.Expr) (term, value plan.Expr, ok bool) {
	eq, isOp := e.(*plan.Op)
	if !isOp || eq.Op != plan.Eq {
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
func termOf(e plan.Expr) (col plan.Col, name string, ok bool) {
	var of plan.Expr
	switch e := e.(type) {
	case *plan.Prop:
		of, name = e.X, "."+e.Key
	case *plan.Call:
		if len(e.Args) != 1 || e.Func != "id" && e.Func != "elementid" {
			return 0, "", false
		}
		of, name = e.Args[0], e.Func
	default:
		return 0, "", false
	}
	c, ok := of.(*plan.ColRef)
	if !ok {
		return 0, "", false
	}
	return c.Col, name, true
}

func sameTerm(a, b plan.Expr) bool {
	x, k, _ := termOf(a)
	y, l, _ := termOf(b)
	return x == y && k == l
}

// unequal recognises a <> b and NOT a = b over columns.
func unequal(e plan.Expr) (x, y plan.Col, ok bool) {
	op, isOp := e.(*plan.Op)
	if isOp && op.Op == plan.Not {
		op, isOp = op.Args[0].(*plan.Op)
		if !isOp || op.Op != plan.Eq {
			return 0, 0, false
		}
	} else if !isOp || op.Op != plan.Ne {
		return 0, 0, false
	}
	a, okA := op.Args[0].(*plan.ColRef)
	b, okB := op.Args[1].(*plan.ColRef)
	if !okA || !okB {
		return 0, 0, false
	}
	return a.Col, b.Col, true
}

// startsOf is how many starting points a search for the pattern tries.
func startsOf(p *plan.Pattern) int {
	n := max(size(p), manyElements)
	return max(maxStarts*manyElements*manyElements/(n*n), 1)
}

// size is the number of vertices and edges of the pattern.
func size(p *plan.Pattern) int { return len(p.Vertices) + len(p.Edges) }
