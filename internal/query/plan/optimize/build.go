package optimize

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// A builder turns the steps of a partial plan into nodes and places every predicate where it can first be tested.
type builder struct {
	m     *matcher
	node  plan.Node
	last  *plan.Filter // made by filter, which adds to it as long as it is node
	bound plan.ColSet  // bound columns of the pattern
	used  []bool       // placed predicates
	paths []bool       // created paths
	done  []int        // edges in the order of their steps
	types edgesByType  // places in done
	sub   bool         // within a subplan
	left  int          // remaining steps
	// waits is, by predicate, how many of its matchPred.needs are not bound; parts is, by path, how many of its columns are not.
	waits, parts []int
	// ready are the predicates that wait for no column and are not yet placed, whole the paths that are complete and not yet created.
	ready, whole []int
}

// newBuilder creates a builder that begins with the columns that a partial plan has bound.
func newBuilder(m *matcher, input plan.Node, start *partialPlan) *builder {
	b := &builder{
		m: m, node: input, bound: start.bound.Clone(), used: make([]bool, len(m.preds)), waits: slices.Clone(start.waits),
		paths: make([]bool, len(m.p.Paths)), parts: make([]int, len(m.p.Paths)), types: edgesByType{}, sub: m.o.inSubplan(input),
	}
	for i, n := range b.waits {
		if n == 0 {
			b.ready = append(b.ready, i)
		}
	}
	for _, in := range m.paths {
		for _, i := range in {
			b.parts[i]++
		}
	}
	for c := range start.bound.All() {
		b.complete(c)
	}
	return b
}

// bind adds bound columns.
func (b *builder) bind(cols ...plan.Col) {
	for _, c := range cols {
		if c == 0 || b.bound.Has(c) {
			continue
		}
		b.bound.Add(c)
		for _, i := range b.m.about[c] {
			if b.waits[i]--; b.waits[i] == 0 {
				b.ready = append(b.ready, i)
			}
		}
		b.complete(c)
	}
}

// complete notes that the paths that contain a column have it.
func (b *builder) complete(c plan.Col) {
	for _, i := range b.m.paths[c] {
		if b.parts[i]--; b.parts[i] == 0 {
			b.whole = append(b.whole, i)
		}
	}
}

// begin applies the predicates on the input's own vertices.
func (b *builder) begin() {
	for _, v := range b.m.p.Vertices {
		if !v.Bound {
			continue
		}
		if v.Labels != nil {
			b.filter(&plan.HasLabels{X: &plan.ColRef{Col: v.Col}, Labels: v.Labels})
		} else if len(b.m.at[v.Col]) == 0 {
			b.filter(&plan.Op{Op: plan.IsNotNull, Args: []plan.Expr{&plan.ColRef{Col: v.Col}}})
		}
	}
	b.applyReady()
}

func (b *builder) filter(e plan.Expr) {
	b.m.o.Steps.Add(1)
	f, ok := b.node.(*plan.Filter)
	switch {
	case ok && f == b.last:
		f.Preds = append(f.Preds, e)
		return
	case ok:
		b.last = &plan.Filter{Input: f.Input, Preds: append(slices.Clone(f.Preds), e)}
	default:
		b.last = &plan.Filter{Input: b.node, Preds: []plan.Expr{e}}
	}
	b.node = b.last
}

// scan returns the scan of a vertex.
func (b *builder) scan(in plan.Node, v plan.Col, labels *plan.LabelExpr) plan.Node {
	rules := b.m.o.ruleScan(labels)
	if rules != nil {
		b.m.o.fired(ruleIndex)
	}
	return &plan.Scan{Input: in, Out: v, Labels: labels, Rules: rules}
}

func (b *builder) step(s step) {
	switch s.kind {
	case stepScan:
		v := b.m.p.Vertices[s.vertex]
		b.missing(v)
		if !b.join(v) {
			b.node = b.scan(b.node, v.Col, v.Labels)
		}
		b.bind(v.Col)
	case stepSeek:
		b.seek(s)
	case stepExpand:
		b.expand(s)
	case stepIntersect:
		b.intersect(s)
	case stepSeekEdge:
		b.seekEdge(s)
		b.boundEdge(b.m.p.Edges[s.edge])
		b.differs(s.edge)
		b.found(s.edge)
	case stepBoundEdge:
		b.boundEdge(b.m.p.Edges[s.edge])
		b.differs(s.edge)
		b.found(s.edge)
	case stepShortest:
		b.shortest(b.m.p.Edges[s.edge])
		b.found(s.edge)
	}
	b.applyReady()
}

// join finds the vertices of v by a hash join if predicates compare them with values of the rows: a scan for each row would
// read them all repeatedly. It does nothing within a subplan, whose rows are few.
func (b *builder) join(v plan.PatVertex) bool {
	if b.sub || b.m.o.off(hashJoin) {
		return false
	}
	q := b.m.o.Query
	var left, right []plan.Item
	j := &plan.HashJoin{RightCols: []plan.Col{v.Col}}
	for _, i := range b.m.about[v.Col] {
		p := &b.m.preds[i]
		op, ok := p.e.(*plan.Op)
		if b.used[i] || p.implied || !ok || op.Op != plan.Eq {
			continue
		}
		for side := range 2 {
			prop, isProp := op.Args[side].(*plan.Prop)
			if !isProp || !propOf(prop, v.Col, prop.Key) {
				continue
			}
			value := op.Args[1-side]
			reads := plan.Reads(value)
			if reads.Len() == 0 || reads.Has(v.Col) || plan.HasSubquery(value) || !b.known(reads, p.cols) {
				continue
			}
			l, r := q.NewCol("", graph.Null), q.NewCol("", graph.Null)
			left, right = append(left, plan.Item{Col: l, Expr: value}), append(right, plan.Item{Col: r, Expr: prop})
			j.LeftKeys, j.RightKeys = append(j.LeftKeys, l), append(j.RightKeys, r)
			b.used[i] = true
			break
		}
	}
	if len(left) == 0 {
		return false
	}
	j.Left = &plan.Project{Input: b.node, Keep: true, Items: left}
	j.Right = &plan.Project{Input: b.scan(&plan.Unit{}, v.Col, v.Labels), Keep: true, Items: right}
	b.m.o.fired(hashJoin)
	b.node = j
	return true
}

// known reports whether the rows already bind the columns of reads that belong to the pattern.
func (b *builder) known(reads, mine plan.ColSet) bool {
	for c := range mine.All() {
		if reads.Has(c) && !b.bound.Has(c) {
			return false
		}
	}
	return true
}

// inSubplan reports whether the rows of a node come from an Argument. It notes that, so that it goes along no chain of inputs twice.
func (o *optimizer) inSubplan(n plan.Node) bool {
	at := n
	for {
		if is, ok := o.subplans[at]; ok {
			o.subplans[n] = is
			return is
		}
		o.Steps.Add(1)
		var input *plan.Node
		plan.EachInput(at, func(c *plan.Node) {
			if input == nil {
				input = c
			}
		})
		if input == nil {
			_, is := at.(*plan.Argument)
			o.subplans[n] = is
			return is
		}
		at = *input
	}
}

func (b *builder) seek(s step) {
	v, a := b.m.p.Vertices[s.vertex], s.access
	b.m.o.fired(seekIndex)
	for _, i := range a.preds {
		b.used[i] = true
	}
	switch {
	case a.byID:
		b.node = &plan.SeekID{Input: b.node, Out: v.Col, Key: a.keys[0], Element: a.element, Each: a.each}
	case a.byRange:
		b.node = &plan.SeekRange{
			Input: b.node, Out: v.Col, Index: a.index, Equal: a.keys, Lo: a.lo, Hi: a.hi, LoOpen: a.loOpen, HiOpen: a.hiOpen,
			Prefix: a.prefix, Area: a.area,
		}
	default:
		b.node = &plan.Seek{Input: b.node, Out: v.Col, Index: a.index, Keys: a.keys, Each: a.each}
	}
	b.bind(v.Col)
	if v.Labels != nil && (a.byID || v.Labels.Op != plan.LabelName) {
		b.filter(&plan.HasLabels{X: &plan.ColRef{Col: v.Col}, Labels: v.Labels})
	}
}

// seekEdge finds an edge of the pattern by its id or through an index, and binds its ends like those of an edge of the input.
func (b *builder) seekEdge(s step) {
	e, a := b.m.p.Edges[s.edge], s.access
	b.m.o.fired(seekIndex)
	for _, i := range a.preds {
		b.used[i] = true
	}
	switch {
	case a.byID:
		b.node = &plan.SeekID{Input: b.node, Out: e.Col, Key: a.keys[0], Element: a.element, Each: a.each, Edge: true, Types: e.Types}
	case a.byRange:
		b.node = &plan.SeekEdgeRange{
			Input: b.node, Out: e.Col, Index: a.index, Equal: a.keys, Lo: a.lo, Hi: a.hi, LoOpen: a.loOpen, HiOpen: a.hiOpen,
			Prefix: a.prefix, Area: a.area,
		}
	default:
		b.node = &plan.SeekEdges{Input: b.node, Out: e.Col, Index: a.index, Keys: a.keys, Each: a.each}
	}
}

// keepsEdge reports whether the column of an edge is needed: by name, in a path, by a predicate, or to distinguish edges.
func (b *builder) keepsEdge(i int) bool {
	e := b.m.p.Edges[i]
	return e.Named || !b.m.exempt[i] || len(b.m.paths[e.Col]) > 0 || len(b.m.about[e.Col]) > 0
}

// distinctFrom lists the columns of the edges already found that edge i must not repeat.
func (b *builder) distinctFrom(i int) []plan.Col {
	var cols []plan.Col
	for _, j := range b.like(i) {
		cols = append(cols, b.m.p.Edges[j].Col)
	}
	return cols
}

// like returns the edges already found that edge i can be the same as, in the order of their steps.
func (b *builder) like(i int) []int {
	var at []int
	b.types.like(&b.m.p.Edges[i], func(k int) bool {
		if b.m.mayBeSame(i, b.done[k]) {
			at = append(at, k)
		}
		return true
	})
	b.m.o.Steps.Add(1 + len(at)/4)
	slices.Sort(at)
	at = slices.Compact(at)
	for n, k := range at {
		at[n] = b.done[k]
	}
	return at
}

// found notes that an edge is found.
func (b *builder) found(i int) {
	b.types.add(&b.m.p.Edges[i], len(b.done))
	b.done = append(b.done, i)
}

// differs compares a bound edge with those before it.
func (b *builder) differs(i int) {
	e := &b.m.p.Edges[i]
	if e.Length != nil {
		return
	}
	for _, j := range b.like(i) {
		x, y := &plan.ColRef{Col: e.Col}, &plan.ColRef{Col: b.m.p.Edges[j].Col}
		if b.m.p.Edges[j].Length != nil {
			b.filter(&plan.Op{Op: plan.Not, Args: []plan.Expr{&plan.Op{Op: plan.In, Args: []plan.Expr{x, y}}}})
		} else {
			b.filter(&plan.Op{Op: plan.Ne, Args: []plan.Expr{x, y}})
		}
	}
}

func (b *builder) expand(s step) {
	e := b.m.p.Edges[s.edge]
	from, to, dir := e.Left, e.Right, e.Dir
	if !s.left {
		from, to, dir = e.Right, e.Left, e.Dir.Reverse()
	}
	col := e.Col
	if !b.keepsEdge(s.edge) {
		col = 0
	}
	var labels *plan.LabelExpr
	if !s.into {
		labels = b.m.labels[to]
	}
	if e.Walk != nil {
		b.node = &plan.FindPaths{
			Input: b.node, From: from, Edges: col, To: to, Walk: e.Walk, Into: s.into, DistinctFrom: b.distinctFrom(s.edge), Reversed: !s.left,
		}
		if labels != nil {
			b.filter(&plan.HasLabels{X: &plan.ColRef{Col: to}, Labels: labels})
		}
	} else if e.Length != nil {
		b.node = &plan.VarExpand{
			Input: b.node, From: from, Edges: col, To: to, Types: e.Types, Dir: dir, Min: e.Length.Min, Max: e.Length.Max,
			Labels: labels, Into: s.into, DistinctFrom: b.distinctFrom(s.edge), EdgeVar: e.EdgeVar, Where: e.Where, Reversed: !s.left,
		}
	} else {
		x := &plan.Expand{
			Input: b.node, From: from, Edge: col, To: to, Types: e.Types, Dir: dir, Labels: labels, Into: s.into,
			DistinctFrom: b.distinctFrom(s.edge),
		}
		// The expansion tests conditions on the edge alone.
		for _, i := range b.m.about[e.Col] {
			p := &b.m.preds[i]
			if reads := plan.Reads(p.e); !b.used[i] && !p.implied && reads.Len() == 1 && reads.Has(e.Col) && !plan.HasSubquery(p.e) && !b.m.o.off(pushPredicates) {
				x.Where = append(x.Where, p.e)
				b.used[i] = true
				b.m.o.fired(pushPredicates)
			}
		}
		b.node = x
	}
	b.found(s.edge)
	b.bind(to)
	b.bind(e.Binds()...)
}

// boundEdge binds the ends of an edge that the input or an index provides. An edge without direction matches both ways.
func (b *builder) boundEdge(e plan.PatEdge) {
	q, ref := b.m.o.Query, &plan.ColRef{Col: e.Col}
	b.bind(e.Col)
	if e.Length != nil {
		b.boundEdges(e)
		return
	}
	left, right := "startnode", "endnode"
	if e.Dir == graph.In {
		left, right = right, left
	}
	var l, r plan.Expr = &plan.Call{Func: left, Args: []plan.Expr{ref}}, &plan.Call{Func: right, Args: []plan.Expr{ref}}
	if e.Bound {
		b.filter(&plan.Op{Op: plan.IsNotNull, Args: []plan.Expr{ref}})
	}
	if e.Dir == graph.Both {
		turned := q.NewCol("", graph.Null)
		loop := &plan.Op{Op: plan.Eq, Args: []plan.Expr{l, r}}
		no, yes := &plan.Const{Value: graph.BoolValue(false)}, &plan.Const{Value: graph.BoolValue(true)}
		b.node = &plan.Unwind{Input: b.node, Out: turned, List: &plan.Case{
			When: []plan.Expr{loop}, Then: []plan.Expr{&plan.ListLit{Elems: []plan.Expr{no}}}, Else: &plan.ListLit{Elems: []plan.Expr{no, yes}},
		}}
		t := &plan.ColRef{Col: turned}
		l, r = &plan.Case{When: []plan.Expr{t}, Then: []plan.Expr{r}, Else: l}, &plan.Case{When: []plan.Expr{t}, Then: []plan.Expr{l}, Else: r}
	}
	b.end(e.Left, l)
	b.end(e.Right, r)
	if e.Bound && len(e.Types) > 0 {
		elems := make([]plan.Expr, len(e.Types))
		for i, t := range e.Types {
			elems[i] = &plan.Const{Value: graph.StringValue(t)}
		}
		b.filter(&plan.Op{Op: plan.In, Args: []plan.Expr{&plan.Call{Func: "type", Args: []plan.Expr{ref}}, &plan.ListLit{Elems: elems}}})
	}
}

// end binds a vertex to the value of x, or compares them.
func (b *builder) end(col plan.Col, x plan.Expr) {
	if b.bound.Has(col) {
		b.filter(&plan.Op{Op: plan.Eq, Args: []plan.Expr{&plan.ColRef{Col: col}, x}})
		return
	}
	b.node = &plan.Project{Input: b.node, Keep: true, Items: []plan.Item{{Col: col, Expr: x}}}
	b.bind(col)
	if l := b.m.labels[col]; l != nil {
		b.filter(&plan.HasLabels{X: &plan.ColRef{Col: col}, Labels: l})
	}
}

// boundEdges joins the trails between the ends with a list of edges of the input.
func (b *builder) boundEdges(e plan.PatEdge) {
	q := b.m.o.Query
	for _, c := range []plan.Col{e.Left, e.Right} {
		if !b.bound.Has(c) && c == e.Left {
			b.node = b.scan(b.node, c, b.m.labels[c])
			b.bind(c)
		}
	}
	edges := q.NewCol("", graph.List)
	into := b.bound.Has(e.Right)
	b.node = &plan.VarExpand{
		Input: b.node, From: e.Left, Edges: edges, To: e.Right, Types: e.Types, Dir: e.Dir, Min: e.Length.Min, Max: e.Length.Max,
		Into: into, EdgeVar: e.EdgeVar, Where: e.Where,
	}
	if l := b.m.labels[e.Right]; !into && l != nil {
		b.filter(&plan.HasLabels{X: &plan.ColRef{Col: e.Right}, Labels: l})
	}
	b.bind(e.Right)
	b.filter(&plan.Op{Op: plan.Eq, Args: []plan.Expr{&plan.ColRef{Col: edges}, &plan.ColRef{Col: e.Col}}})
}

func (b *builder) shortest(e plan.PatEdge) {
	s := &plan.ShortestPath{
		Input: b.node, From: e.Left, To: e.Right, Types: e.Types, Dir: e.Dir, All: e.Shortest == "all", EdgeVar: e.EdgeVar, Where: e.Where,
	}
	one := &plan.Const{Value: graph.IntValue(1)}
	s.Min, s.Max = one, one
	if e.Length != nil {
		s.Min, s.Max, s.Edges = e.Length.Min, e.Length.Max, e.Col
	} else {
		s.Edge = e.Col
	}
	b.bind(e.Col)
	for _, i := range b.m.paths[e.Col] {
		p := &b.m.p.Paths[i]
		if slices.Equal(p.Cols, []plan.Col{e.Left, e.Col, e.Right}) {
			s.Path, b.paths[i] = p.Col, true
			b.bound.Add(p.Col)
		}
	}
	for _, i := range b.m.about[e.Col] {
		p := &b.m.preds[i]
		if !b.used[i] && !p.implied && (s.Path != 0 && p.cols.Has(s.Path) || p.cols.Has(e.Col)) && b.waits[i] == 0 {
			s.PathWhere = append(s.PathWhere, p.e)
			b.used[i] = true
		}
	}
	b.node = s
}

// predOrder orders predicates that are tested together: plain ones first, then tests for edges, then subplans.
func predOrder(e plan.Expr) int {
	if plan.HasSubquery(e) {
		return 2
	}
	edges := false
	var visit func(*plan.Expr)
	visit = func(p *plan.Expr) {
		if _, ok := (*p).(*plan.HasEdge); ok {
			edges = true
		}
		plan.Subexprs(*p, visit)
	}
	visit(&e)
	if edges {
		return 1
	}
	return 0
}

// applyReady creates the paths whose parts are bound and tests the predicates that have become testable, the cheapest first.
// Predicates with volatile expressions wait for the rows of the whole pattern.
func (b *builder) applyReady() {
	slices.Sort(b.whole)
	for _, i := range b.whole {
		if b.paths[i] {
			continue
		}
		b.paths[i] = true
		p := &b.m.p.Paths[i]
		b.node = &plan.Project{Input: b.node, Keep: true, Items: []plan.Item{{Col: p.Col, Expr: &plan.MakePath{Cols: p.Cols}}}}
		b.bound.Add(p.Col)
	}
	b.whole = b.whole[:0]
	if b.left > 0 && b.m.o.off(pushPredicates) {
		return
	}
	later := b.ready[:0]
	var now [3][]int // by weight
	slices.Sort(b.ready)
	for _, i := range b.ready {
		switch p := &b.m.preds[i]; {
		case b.used[i] || p.implied:
		case b.left > 0 && plan.Random(p.e):
			later = append(later, i)
		default:
			weight := predOrder(p.e)
			now[weight] = append(now[weight], i)
		}
	}
	b.ready = later
	for _, ready := range now {
		for _, i := range ready {
			b.used[i] = true
			if b.left > 0 {
				b.m.o.fired(pushPredicates)
			}
			b.filter(b.m.preds[i].e)
		}
	}
}
