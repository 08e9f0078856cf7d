package plan

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// A builder turns the steps of a partial plan into nodes and places every predicate where it can first be tested.
type builder struct {
	m     *matcher
	node  Node
	bound ColSet // bound columns of the pattern
	used  []bool // placed predicates
	paths []bool // created paths
	done  []int  // edges in the order of their steps
	left  int    // remaining steps
}

// begin applies the predicates on the input's own vertices.
func (b *builder) begin() {
	for _, v := range b.m.p.Vertices {
		if !v.Bound {
			continue
		}
		if v.Labels != nil {
			b.filter(&HasLabels{X: &ColRef{Col: v.Col}, Labels: v.Labels})
		} else if !slices.ContainsFunc(b.m.p.Edges, func(e PatEdge) bool { return e.Left == v.Col || e.Right == v.Col }) {
			b.filter(&Op{Op: IsNotNull, Args: []Expr{&ColRef{Col: v.Col}}})
		}
	}
	b.applyReady()
}

func (b *builder) filter(e Expr) {
	if f, ok := b.node.(*Filter); ok {
		b.node = &Filter{Input: f.Input, Preds: append(slices.Clone(f.Preds), e)}
		return
	}
	b.node = &Filter{Input: b.node, Preds: []Expr{e}}
}

func (b *builder) step(s step) {
	switch s.kind {
	case stepScan:
		v := b.m.p.Vertices[s.vertex]
		b.missing(v)
		if !b.join(v) {
			b.node = &Scan{Input: b.node, Out: v.Col, Labels: v.Labels}
		}
		b.bound.Add(v.Col)
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
		b.done = append(b.done, s.edge)
	case stepBoundEdge:
		b.boundEdge(b.m.p.Edges[s.edge])
		b.differs(s.edge)
		b.done = append(b.done, s.edge)
	case stepShortest:
		b.shortest(b.m.p.Edges[s.edge])
		b.done = append(b.done, s.edge)
	}
	b.applyReady()
}

// join finds the vertices of v by a hash join if predicates compare them with values of the rows: a scan for each row would
// read them all repeatedly. It does nothing within a subplan, whose rows are few.
func (b *builder) join(v PatVertex) bool {
	if inSubplan(b.node) || b.m.o.off(hashJoin) {
		return false
	}
	q := b.m.o.q
	var left, right []Item
	j := &HashJoin{RightCols: []Col{v.Col}}
	for i, p := range b.m.preds {
		op, ok := p.e.(*Op)
		if b.used[i] || p.implied || !ok || op.Op != Eq {
			continue
		}
		for side := range 2 {
			prop, isProp := op.Args[side].(*Prop)
			if !isProp || !propOf(prop, v.Col, prop.Key) {
				continue
			}
			value := op.Args[1-side]
			reads := Reads(value)
			if len(reads) == 0 || reads.Has(v.Col) || HasSubquery(value) || !b.known(reads, p.cols) {
				continue
			}
			l, r := q.NewCol("", graph.Null), q.NewCol("", graph.Null)
			left, right = append(left, Item{Col: l, Expr: value}), append(right, Item{Col: r, Expr: prop})
			j.LeftKeys, j.RightKeys = append(j.LeftKeys, l), append(j.RightKeys, r)
			b.used[i] = true
			break
		}
	}
	if len(left) == 0 {
		return false
	}
	j.Left = &Project{Input: b.node, Keep: true, Items: left}
	j.Right = &Project{Input: &Scan{Input: &Unit{}, Out: v.Col, Labels: v.Labels}, Keep: true, Items: right}
	b.m.o.fired(hashJoin)
	b.node = j
	return true
}

// known reports whether the rows already bind the columns of reads that belong to the pattern.
func (b *builder) known(reads, mine ColSet) bool {
	for c := range mine {
		if reads.Has(c) && !b.bound.Has(c) {
			return false
		}
	}
	return true
}

// inSubplan reports whether the rows of a node come from an Argument.
func inSubplan(n Node) bool {
	for {
		var input *Node
		n.inputs(func(c *Node) {
			if input == nil {
				input = c
			}
		})
		if input == nil {
			_, ok := n.(*Argument)
			return ok
		}
		n = *input
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
		b.node = &SeekID{Input: b.node, Out: v.Col, Key: a.keys[0], Element: a.element, Each: a.each}
	case a.byRange:
		b.node = &SeekRange{
			Input: b.node, Out: v.Col, Index: a.index, Equal: a.keys, Lo: a.lo, Hi: a.hi, LoOpen: a.loOpen, HiOpen: a.hiOpen,
			Prefix: a.prefix, Area: a.area,
		}
	default:
		b.node = &Seek{Input: b.node, Out: v.Col, Index: a.index, Keys: a.keys, Each: a.each}
	}
	b.bound.Add(v.Col)
	if v.Labels != nil && (a.byID || v.Labels.Op != LabelName) {
		b.filter(&HasLabels{X: &ColRef{Col: v.Col}, Labels: v.Labels})
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
		b.node = &SeekID{Input: b.node, Out: e.Col, Key: a.keys[0], Element: a.element, Each: a.each, Edge: true, Types: e.Types}
	case a.byRange:
		b.node = &SeekEdgeRange{
			Input: b.node, Out: e.Col, Index: a.index, Equal: a.keys, Lo: a.lo, Hi: a.hi, LoOpen: a.loOpen, HiOpen: a.hiOpen,
			Prefix: a.prefix, Area: a.area,
		}
	default:
		b.node = &SeekEdges{Input: b.node, Out: e.Col, Index: a.index, Keys: a.keys, Each: a.each}
	}
}

// keepsEdge reports whether the column of an edge is needed: by name, in a path, by a predicate, or to distinguish edges.
func (b *builder) keepsEdge(i int) bool {
	e := b.m.p.Edges[i]
	return e.Named || !b.m.exempt[i] ||
		slices.ContainsFunc(b.m.p.Paths, func(p PatPath) bool { return slices.Contains(p.Cols, e.Col) }) ||
		slices.ContainsFunc(b.m.preds, func(p matchPred) bool { return p.cols.Has(e.Col) })
}

// distinctFrom lists the columns of the edges already found that edge i must not repeat.
func (b *builder) distinctFrom(i int) []Col {
	var cols []Col
	for _, j := range b.done {
		if b.m.mayBeSame(i, j) {
			cols = append(cols, b.m.p.Edges[j].Col)
		}
	}
	return cols
}

// differs compares a bound edge with those before it.
func (b *builder) differs(i int) {
	e := &b.m.p.Edges[i]
	if e.Length != nil {
		return
	}
	for _, j := range b.done {
		if !b.m.mayBeSame(i, j) {
			continue
		}
		x, y := &ColRef{Col: e.Col}, &ColRef{Col: b.m.p.Edges[j].Col}
		if b.m.p.Edges[j].Length != nil {
			b.filter(&Op{Op: Not, Args: []Expr{&Op{Op: In, Args: []Expr{x, y}}}})
		} else {
			b.filter(&Op{Op: Ne, Args: []Expr{x, y}})
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
	var labels *LabelExpr
	if !s.into {
		labels = b.m.labels[to]
	}
	if e.Walk != nil {
		b.node = &FindPaths{
			Input: b.node, From: from, Edges: col, To: to, Walk: e.Walk, Into: s.into, DistinctFrom: b.distinctFrom(s.edge), Reversed: !s.left,
		}
		if labels != nil {
			b.filter(&HasLabels{X: &ColRef{Col: to}, Labels: labels})
		}
	} else if e.Length != nil {
		b.node = &VarExpand{
			Input: b.node, From: from, Edges: col, To: to, Types: e.Types, Dir: dir, Min: e.Length.Min, Max: e.Length.Max,
			Labels: labels, Into: s.into, DistinctFrom: b.distinctFrom(s.edge), EdgeVar: e.EdgeVar, Where: e.Where, Reversed: !s.left,
		}
	} else {
		x := &Expand{
			Input: b.node, From: from, Edge: col, To: to, Types: e.Types, Dir: dir, Labels: labels, Into: s.into,
			DistinctFrom: b.distinctFrom(s.edge),
		}
		// The expansion tests conditions on the edge alone.
		for i, p := range b.m.preds {
			if reads := Reads(p.e); !b.used[i] && !p.implied && len(reads) == 1 && reads.Has(e.Col) && !HasSubquery(p.e) && !b.m.o.off(pushPredicates) {
				x.Where = append(x.Where, p.e)
				b.used[i] = true
				b.m.o.fired(pushPredicates)
			}
		}
		b.node = x
	}
	b.done = append(b.done, s.edge)
	b.bound.Add(to)
	b.bound.Add(e.binds()...)
}

// boundEdge binds the ends of an edge that the input or an index provides. An edge without direction matches both ways.
func (b *builder) boundEdge(e PatEdge) {
	q, ref := b.m.o.q, &ColRef{Col: e.Col}
	b.bound.Add(e.Col)
	if e.Length != nil {
		b.boundEdges(e)
		return
	}
	left, right := "startnode", "endnode"
	if e.Dir == graph.In {
		left, right = right, left
	}
	var l, r Expr = &Call{Func: left, Args: []Expr{ref}}, &Call{Func: right, Args: []Expr{ref}}
	if e.Bound {
		b.filter(&Op{Op: IsNotNull, Args: []Expr{ref}})
	}
	if e.Dir == graph.Both {
		turned := q.NewCol("", graph.Null)
		loop := &Op{Op: Eq, Args: []Expr{l, r}}
		no, yes := &Const{Value: graph.BoolValue(false)}, &Const{Value: graph.BoolValue(true)}
		b.node = &Unwind{Input: b.node, Out: turned, List: &Case{
			When: []Expr{loop}, Then: []Expr{&ListLit{Elems: []Expr{no}}}, Else: &ListLit{Elems: []Expr{no, yes}},
		}}
		t := &ColRef{Col: turned}
		l, r = &Case{When: []Expr{t}, Then: []Expr{r}, Else: l}, &Case{When: []Expr{t}, Then: []Expr{l}, Else: r}
	}
	b.end(e.Left, l)
	b.end(e.Right, r)
	if e.Bound && len(e.Types) > 0 {
		elems := make([]Expr, len(e.Types))
		for i, t := range e.Types {
			elems[i] = &Const{Value: graph.StringValue(t)}
		}
		b.filter(&Op{Op: In, Args: []Expr{&Call{Func: "type", Args: []Expr{ref}}, &ListLit{Elems: elems}}})
	}
}

// end binds a vertex to the value of x, or compares them.
func (b *builder) end(col Col, x Expr) {
	if b.bound.Has(col) {
		b.filter(&Op{Op: Eq, Args: []Expr{&ColRef{Col: col}, x}})
		return
	}
	b.node = &Project{Input: b.node, Keep: true, Items: []Item{{Col: col, Expr: x}}}
	b.bound.Add(col)
	if l := b.m.labels[col]; l != nil {
		b.filter(&HasLabels{X: &ColRef{Col: col}, Labels: l})
	}
}

// boundEdges joins the trails between the ends with a list of edges of the input.
func (b *builder) boundEdges(e PatEdge) {
	q := b.m.o.q
	for _, c := range []Col{e.Left, e.Right} {
		if !b.bound.Has(c) && c == e.Left {
			b.node = &Scan{Input: b.node, Out: c, Labels: b.m.labels[c]}
			b.bound.Add(c)
		}
	}
	edges := q.NewCol("", graph.List)
	into := b.bound.Has(e.Right)
	b.node = &VarExpand{
		Input: b.node, From: e.Left, Edges: edges, To: e.Right, Types: e.Types, Dir: e.Dir, Min: e.Length.Min, Max: e.Length.Max,
		Into: into, EdgeVar: e.EdgeVar, Where: e.Where,
	}
	if l := b.m.labels[e.Right]; !into && l != nil {
		b.filter(&HasLabels{X: &ColRef{Col: e.Right}, Labels: l})
	}
	b.bound.Add(e.Right)
	b.filter(&Op{Op: Eq, Args: []Expr{&ColRef{Col: edges}, &ColRef{Col: e.Col}}})
}

func (b *builder) shortest(e PatEdge) {
	s := &ShortestPath{
		Input: b.node, From: e.Left, To: e.Right, Types: e.Types, Dir: e.Dir, All: e.Shortest == "all", EdgeVar: e.EdgeVar, Where: e.Where,
	}
	one := &Const{Value: graph.IntValue(1)}
	s.Min, s.Max = one, one
	if e.Length != nil {
		s.Min, s.Max, s.Edges = e.Length.Min, e.Length.Max, e.Col
	} else {
		s.Edge = e.Col
	}
	b.bound.Add(e.Col)
	for i, p := range b.m.p.Paths {
		if slices.Equal(p.Cols, []Col{e.Left, e.Col, e.Right}) {
			s.Path, b.paths[i] = p.Col, true
			b.bound.Add(p.Col)
		}
	}
	for i, p := range b.m.preds {
		if !b.used[i] && !p.implied && (s.Path != 0 && p.cols.Has(s.Path) || p.cols.Has(e.Col)) && b.m.ready(p.cols, b.bound) {
			s.PathWhere = append(s.PathWhere, p.e)
			b.used[i] = true
		}
	}
	b.node = s
}

// predOrder orders predicates that are tested together: plain ones first, then tests for edges, then subplans.
func predOrder(e Expr) int {
	if HasSubquery(e) {
		return 2
	}
	edges := false
	var visit func(*Expr)
	visit = func(p *Expr) {
		if _, ok := (*p).(*HasEdge); ok {
			edges = true
		}
		subexprs(*p, visit)
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
	for i, p := range b.m.p.Paths {
		if b.paths[i] || slices.ContainsFunc(p.Cols, func(c Col) bool { return !b.bound.Has(c) }) {
			continue
		}
		b.paths[i] = true
		b.node = &Project{Input: b.node, Keep: true, Items: []Item{{Col: p.Col, Expr: &MakePath{Cols: p.Cols}}}}
		b.bound.Add(p.Col)
	}
	if b.left > 0 && b.m.o.off(pushPredicates) {
		return
	}
	for weight := range 3 {
		for i, p := range b.m.preds {
			if b.used[i] || p.implied || predOrder(p.e) != weight || !b.all(p.cols) || b.left > 0 && random(p.e) {
				continue
			}
			b.used[i] = true
			if b.left > 0 {
				b.m.o.fired(pushPredicates)
			}
			b.filter(p.e)
		}
	}
}

func (b *builder) all(cols ColSet) bool {
	for c := range cols {
		if !b.bound.Has(c) {
			return false
		}
	}
	return true
}
