package optimize

import (
	"maps"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// pushDownCount is the rule CountPushdown. It applies to count(*), and to count(x) of something that a pattern binds, directly
// above a MATCH or a MATCH with OPTIONAL MATCHes that each hang on one vertex.
//
// BenchmarkRewrites/CountPushdown in bench/traversal compares it with the general shape, an aggregate over path multiplicities.
func pushDownCount(o *optimizer, n plan.Node) plan.Node {
	a, ok := n.(*plan.Aggregate)
	if !ok || len(a.Keys) > 0 || len(a.Aggs) != 1 || a.Aggs[0].Func != "count" || a.Aggs[0].Distinct {
		return nil
	}
	var optional []*plan.Match
	at := a.Input
	for {
		m, ok := at.(*plan.Match)
		if !ok {
			return nil
		}
		if !m.Optional {
			break
		}
		optional = append(optional, m)
		at = m.Input
	}
	m, _ := at.(*plan.Match)
	if len(a.Aggs[0].Args) == 1 {
		ref, ok := a.Aggs[0].Args[0].(*plan.ColRef)
		if !ok || !m.Pattern.Binds(ref.Col) {
			return nil
		}
	}
	if len(optional) == 0 && m.Pattern.OneBareEdge() {
		return nil // CountStore knows
	}
	f := &countPushdown{o: o, p: m.Pattern.Clone(), branches: map[plan.Col][]plan.Branch{}}
	for _, opt := range optional {
		if !f.optional(&opt.Pattern) {
			return nil
		}
	}
	if _, ok := m.Input.(*plan.Unit); ok && len(optional) == 0 {
		if terms := f.allTerms(); len(terms) > 1 || len(terms) == 1 && len(terms[0].f.pairs) > 0 {
			return f.sum(a.Aggs[0].Col, terms)
		}
	}
	f = &countPushdown{o: o, p: m.Pattern.Clone(), branches: f.branches}
	if !f.pushDown() && len(optional) == 0 {
		return nil
	}
	return f.count(m.Input, a.Aggs[0].Col)
}

// countPushdown removes leaves from a pattern and turns them into factors of a count.
type countPushdown struct {
	o        *optimizer
	p        *plan.Pattern
	branches map[plan.Col][]plan.Branch
	pairs    []plan.PairMultiplicity // factors of two vertices of the pattern, without Input and Out
	keep     plan.Col                // a vertex that stays in the pattern
	above    plan.ColSet             // the columns that are read above the pattern
	exempt   map[plan.Col]bool       // the edges that relationship uniqueness does not constrain; nil: not computed
}

// maxRoots bounds the vertices of a tree that pushDown tries as the remaining one.
const maxRoots = 64

// matcher creates a matcher for the pattern in its current form.
func (f *countPushdown) matcher() *matcher {
	m := &matcher{o: f.o, p: f.p}
	for _, e := range f.p.Preds {
		m.preds = append(m.preds, matchPred{e: e})
	}
	m.findExempt()
	return m
}

// optional turns an optional pattern into a branch of the vertex that it hangs on.
func (f *countPushdown) optional(p *plan.Pattern) bool {
	g := &countPushdown{o: f.o, p: p.Clone(), branches: map[plan.Col][]plan.Branch{}}
	root := slices.IndexFunc(p.Vertices, func(v plan.PatVertex) bool { return v.Bound })
	if root < 0 || len(p.Preds) > 0 || len(p.Paths) > 0 || p.Vertices[root].Labels != nil {
		return false
	}
	col := p.Vertices[root].Col
	on := slices.ContainsFunc(f.p.Vertices, func(v plan.PatVertex) bool { return v.Col == col })
	if !on || !g.pushDown() || len(g.p.Edges) > 0 || len(g.p.Vertices) != 1 || g.p.Vertices[0].Col != col || len(g.branches[col]) != 1 {
		return false
	}
	b := g.branches[col][0]
	b.Optional = true
	f.branches[col] = append(f.branches[col], b)
	return true
}

// pushDown removes all leaves that it may and reports whether there was one. If a tree shrinks to one vertex, the vertex
// remains from which counting costs least.
func (f *countPushdown) pushDown() bool {
	if len(f.p.Vertices) > maxRoots {
		return f.pushLeaves()
	}
	f.findExempt()
	var best *countPushdown
	least := 0.0
	for _, v := range f.p.Vertices {
		g := f.without(-1)
		g.branches, g.keep, g.exempt = maps.Clone(f.branches), v.Col, f.exempt
		if g.pushLeaves(); len(g.p.Vertices) > 1 {
			continue
		}
		n := f.o.Vertices(v.Labels)
		if cost := 2*n + f.o.multiplicityCost(n, v.Labels, g.branches[v.Col]); best == nil || cost < least {
			best, least = g, cost
		}
	}
	if best == nil {
		return f.pushLeaves()
	}
	some := len(best.p.Edges) < len(f.p.Edges)
	*f = *best
	return some
}

// multiplicityCost estimates the work of computing the path multiplicities of n vertices with labels from.
func (o *optimizer) multiplicityCost(n float64, from *plan.LabelExpr, branches []plan.Branch) float64 {
	const degree, labelTest = 6, 3 // in edges read
	cost := 0.0
	for _, b := range branches {
		sure := o.AllEnds(b.Types, b.Dir, b.Labels)
		if sure && len(b.Branches) == 0 {
			cost += n * degree
			continue
		}
		edges := n * o.Fanout(b.Types, b.Dir, from, nil)
		cost += edges
		if !sure {
			cost += edges * labelTest
		}
		if len(b.Branches) > 0 {
			met := min(n*o.Fanout(b.Types, b.Dir, from, b.Labels), o.Vertices(b.Labels))
			cost += edges + met + o.multiplicityCost(met, b.Labels, b.Branches)
		}
	}
	return cost
}

// pushLeaves removes all leaves that it may except for the vertex keep, those with the most vertices first.
func (f *countPushdown) pushLeaves() bool {
	some := false
	for {
		f.o.Steps.Add(1)
		leaf := -1
		for i, ok := range f.leaves() {
			if ok && (leaf < 0 || f.o.Vertices(f.p.Vertices[i].Labels) > f.o.Vertices(f.p.Vertices[leaf].Labels)) {
				leaf = i
			}
		}
		if leaf < 0 {
			return some
		}
		some = true
		m := f.cut(leaf)
		f.branches[m.Col] = append(f.branches[m.Col], m.Branches...)
	}
}

// leaves reports which vertices are removable leaves.
func (f *countPushdown) leaves() []bool {
	f.findExempt()
	read := plan.NewColSet()
	plan.EachExpr(&plan.Match{Pattern: *f.p}, func(e *plan.Expr) { read.Reads(*e) })
	for _, p := range f.p.Paths {
		read.Add(p.Cols...)
	}
	read.AddAll(f.above)
	only := f.onlyEdges()
	out := make([]bool, len(f.p.Vertices))
	for i, v := range f.p.Vertices {
		e, ok := only[v.Col]
		out[i] = ok && e >= 0 && !v.Bound && !read.Has(v.Col) && v.Col != f.keep && f.exempt[f.p.Edges[e].Col] && !read.Has(f.p.Edges[e].Col)
	}
	return out
}

// cut removes a leaf and returns the branch that it was.
func (f *countPushdown) cut(leaf int) plan.Multiplicity {
	v := f.p.Vertices[leaf]
	edge := f.onlyEdges()[v.Col]
	e := f.p.Edges[edge]
	parent, dir := e.Left, e.Dir
	if parent == v.Col {
		parent, dir = e.Right, e.Dir.Reverse()
	}
	b := plan.Branch{Types: e.Types, Dir: dir, Labels: v.Labels, Branches: f.branches[v.Col]}
	delete(f.branches, v.Col)
	f.p.Vertices = slices.Delete(f.p.Vertices, leaf, leaf+1)
	f.p.Edges = slices.Delete(f.p.Edges, edge, edge+1)
	return plan.Multiplicity{Col: parent, Branches: []plan.Branch{b}}
}

// findExempt finds the edges of the pattern that relationship uniqueness does not constrain.
func (f *countPushdown) findExempt() {
	if f.exempt != nil {
		return
	}
	m := f.matcher()
	f.exempt = map[plan.Col]bool{}
	for i, e := range f.p.Edges {
		f.exempt[e.Col] = m.exempt[i]
	}
}

// onlyEdges maps each vertex to its only plain edge in the pattern, or to -1 if it has several edges or another kind.
func (f *countPushdown) onlyEdges() map[plan.Col]int {
	only := make(map[plan.Col]int, len(f.p.Vertices))
	for i, e := range f.p.Edges {
		for _, c := range []plan.Col{e.Left, e.Right} {
			if _, ok := only[c]; ok || e.Left == e.Right || e.Length != nil || e.Bound || e.Shortest != "" {
				only[c] = -1
			} else {
				only[c] = i
			}
		}
	}
	return only
}

// term is a pattern whose rows count with a factor.
type term struct {
	f      *countPushdown
	factor int
}

// maxTerms bounds the counts of a sum. Two predicates may each double them, and three edges have five partitions.
const maxTerms = 5

// allTerms returns patterns without relationship uniqueness whose counts add up to that of f, by inclusion and exclusion.
func (f *countPushdown) allTerms() (terms []term) {
	tries := 0
	for _, t := range f.partitionTerms() {
		some := t.f.terms(t.factor, &tries)
		if some == nil || len(terms)+len(some) > maxTerms {
			return nil
		}
		terms = append(terms, some...)
	}
	return terms
}

// maxTries bounds the patterns that a search for terms visits, which outnumber the orders of the predicates.
const maxTries = 256

// terms returns patterns whose counts add up to that of f. It omits a predicate that keeps a leaf in the pattern and subtracts
// what the predicate would have dropped: for a <> b the rows in which both are the same vertex, for NOT (a)-[:T]->(b) the rows
// with such an edge. If these rows are found by intersecting two lists, the two lists tell the difference as well, so one term
// suffices. It returns none if the search is too large.
func (f *countPushdown) terms(factor int, tries *int) []term {
	if *tries++; *tries > maxTries {
		return nil
	}
	f.o.Steps.Add(1)
	f.dropImplied()
	order := make([]int, len(f.p.Preds))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return predOrder(f.p.Preds[j]) - predOrder(f.p.Preds[i]) })
	for _, i := range order {
		e := f.p.Preds[i]
		x, y, ok := negatedPair(e)
		if !ok || x == y || !f.unlocksLeaf(x, y) {
			continue
		}
		all, without := f.without(i), f.without(i)
		op, _ := e.(*plan.Op)
		if test, ok := op.Args[0].(*plan.HasEdge); ok && op.Op == plan.Not {
			without.p.Preds = append(without.p.Preds, test)
		} else if without.above.Has(y) || plan.Reads(without.p.Preds...).Has(y) {
			without.p.Preds = append(without.p.Preds, &plan.Op{Op: plan.Eq, Args: []plan.Expr{&plan.ColRef{Col: x}, &plan.ColRef{Col: y}}})
		} else {
			without.p.MergeVertices(x, y)
		}
		if g, leaf := f.pair(i, x, y); g != nil && without.endsIn(leaf) {
			return g.terms(factor, tries)
		}
		plus, minus := all.terms(factor, tries), without.terms(-factor, tries)
		if plus == nil || minus == nil {
			return nil
		}
		if ts := append(plus, minus...); len(ts) <= maxTerms {
			return ts
		}
	}
	return []term{{f, factor}}
}

// without returns a copy of f whose pattern lacks predicate i, or none if i is negative, with no leaf removed.
func (f *countPushdown) without(i int) *countPushdown {
	g := &countPushdown{o: f.o, p: f.p.Clone(), branches: map[plan.Col][]plan.Branch{}, pairs: f.pairs, above: f.above}
	if i >= 0 {
		g.p.Preds = slices.Delete(g.p.Preds, i, i+1)
	}
	return g
}

// pair returns f with predicate i, on x and y, and its leaf as a PairMultiplicity, or nil if they are no such leaves.
func (f *countPushdown) pair(i int, x, y plan.Col) (g *countPushdown, leaf plan.Col) {
	g = f.without(i)
	cut := func(c plan.Col) (m plan.Multiplicity, ok bool) {
		at := slices.IndexFunc(g.p.Vertices, func(v plan.PatVertex) bool { return v.Col == c })
		if at < 0 || !g.leaves()[at] {
			return m, false
		}
		return g.cut(at), true
	}
	var w plan.PairMultiplicity
	var ok bool
	op, _ := f.p.Preds[i].(*plan.Op)
	if test, isTest := op.Args[0].(*plan.HasEdge); isTest {
		w.Absent = true
		for _, leaf = range []plan.Col{y, x} {
			if w.Ends[0], ok = cut(leaf); ok {
				from, dir := test.OtherEnd(leaf)
				w.Ends[1] = plan.Multiplicity{Col: from, Branches: []plan.Branch{{Types: test.Types, Dir: dir}}}
				break
			}
		}
	} else if w.Ends[0], ok = cut(x); ok && w.Ends[0].Col != y {
		leaf = x
		if w.Ends[1], ok = cut(y); ok && g.degree(&w.Ends[1]) < g.degree(&w.Ends[0]) {
			w.Ends[0], w.Ends[1] = w.Ends[1], w.Ends[0]
		}
	}
	if !ok || w.Ends[1].Branches == nil {
		return nil, 0
	}
	g.pairs, g.above = append(slices.Clone(f.pairs), w), f.above.Clone()
	g.above.Add(w.Ends[0].Col, w.Ends[1].Col)
	return g, leaf
}

// degree estimates the edges of one branch.
func (f *countPushdown) degree(m *plan.Multiplicity) float64 {
	at := slices.IndexFunc(f.p.Vertices, func(v plan.PatVertex) bool { return v.Col == m.Col })
	return f.o.Fanout(m.Branches[0].Types, m.Branches[0].Dir, f.p.Vertices[at].Labels, nil)
}

// endsIn reports whether the best plan of f's pattern ends in an intersection of the lists of two vertices that binds c.
func (f *countPushdown) endsIn(c plan.Col) bool {
	g := f.without(-1)
	g.pushDown()
	m, start := f.o.matcher(g.p)
	best, _ := m.search(start)
	if len(best.steps) == 0 || best.steps[len(best.steps)-1].kind != stepIntersect {
		return false
	}
	last := best.steps[len(best.steps)-1]
	_, to, _ := m.p.Edges[last.edge].Expansion(last.left)
	return to == c
}

// negatedPair recognises a <> b and NOT (a)-[:T]->(b).
func negatedPair(e plan.Expr) (x, y plan.Col, ok bool) {
	if x, y, ok := unequal(e); ok {
		return x, y, true
	}
	op, isOp := e.(*plan.Op)
	if !isOp || op.Op != plan.Not {
		return 0, 0, false
	}
	test, ok := op.Args[0].(*plan.HasEdge)
	if !ok {
		return 0, 0, false
	}
	from, okFrom := test.From.(*plan.ColRef)
	to, okTo := test.To.(*plan.ColRef)
	if !okFrom || !okTo {
		return 0, 0, false
	}
	return from.Col, to.Col, true
}

// unlocksLeaf reports whether x or y becomes a removable leaf once the predicates that keep pairs of vertices apart are
// omitted.
func (f *countPushdown) unlocksLeaf(x, y plan.Col) bool {
	g := f.without(-1)
	g.pushLeaves() // columns that can be pushed down without that
	read := plan.NewColSet()
	for _, e := range f.p.Preds {
		if _, _, ok := negatedPair(e); !ok {
			read.Reads(e)
		}
	}
	free := false
	for _, c := range []plan.Col{x, y} {
		if !g.p.Binds(c) || !slices.ContainsFunc(g.p.Vertices, func(v plan.PatVertex) bool { return v.Col == c }) {
			return false
		}
		if e, ok := g.onlyEdges()[c]; ok && e >= 0 && !read.Has(c) && !read.Has(g.p.Edges[e].Col) {
			free = true
		}
	}
	return free
}

// dropImplied omits each a <> b that follows from (c)-[:T]->(a) and NOT (c)-[:T]->(b).
func (f *countPushdown) dropImplied() {
	f.p.Preds = slices.DeleteFunc(f.p.Preds, func(e plan.Expr) bool {
		x, y, ok := unequal(e)
		return ok && (f.impliesDistinct(x, y) || f.impliesDistinct(y, x))
	})
}

// impliesDistinct reports whether an edge leads to a from a vertex that has no such edge to b.
func (f *countPushdown) impliesDistinct(a, b plan.Col) bool {
	return slices.ContainsFunc(f.p.Preds, func(e plan.Expr) bool {
		not, ok := e.(*plan.Op)
		if !ok || not.Op != plan.Not {
			return false
		}
		test, ok := not.Args[0].(*plan.HasEdge)
		if !ok {
			return false
		}
		c, dir := test.OtherEnd(b)
		return c != 0 && slices.ContainsFunc(f.p.Edges, func(e plan.PatEdge) bool {
			for _, left := range []bool{true, false} {
				from, to, d := e.Expansion(left)
				if from == c && to == a && e.Length == nil && (d == dir || dir == graph.Both) && typesWithin(e.Types, test.Types) {
					return true
				}
			}
			return false
		})
	})
}

// typesWithin reports whether each edge with one of types a has one of types b; no types mean all.
func typesWithin(a, b []string) bool {
	return len(b) == 0 || len(a) > 0 && !slices.ContainsFunc(a, func(t string) bool { return !slices.Contains(b, t) })
}

// sum adds the counts of terms.
func (f *countPushdown) sum(out plan.Col, terms []term) plan.Node {
	var n plan.Node
	var total plan.Expr
	for i, t := range terms {
		c := f.o.Query.NewCol("", graph.Null)
		t.f.pushDown()
		switch {
		case i == 0:
			n, total = t.f.count(&plan.Unit{}, c), &plan.ColRef{Col: c}
		default:
			n = &plan.Apply{Input: n, Sub: t.f.count(&plan.Argument{}, c), Kind: plan.Inner, Cols: []plan.Col{c}}
			op, factor, more := plan.Add, t.factor, plan.Expr(&plan.ColRef{Col: c})
			if factor < 0 {
				op, factor = plan.Sub, -factor
			}
			if factor > 1 {
				more = &plan.Op{Op: plan.Mul, Args: []plan.Expr{&plan.Const{Value: graph.IntValue(int64(factor))}, more}}
			}
			total = &plan.Op{Op: op, Args: []plan.Expr{total, more}}
		}
	}
	return &plan.Project{Input: n, Items: []plan.Item{{Col: out, Expr: total}}}
}

// count creates the sum over the remaining pattern.
func (f *countPushdown) count(input plan.Node, out plan.Col) plan.Node {
	c := &plan.MultiplicityCount{Input: &plan.Match{Input: input, Pattern: *f.p}, Out: out}
	for _, w := range f.pairs {
		w.Input, w.Out = c.Input, f.o.Query.NewCol("", graph.Null)
		c.Input, c.Times = &w, append(c.Times, w.Out)
	}
	for _, v := range f.p.Vertices {
		if bs := f.branches[v.Col]; len(bs) > 0 {
			c.Multiplicities = append(c.Multiplicities, plan.Multiplicity{Col: v.Col, Branches: bs})
		}
	}
	return c
}
