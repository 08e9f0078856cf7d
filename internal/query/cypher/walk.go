package cypher

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// walkBinder binds a path pattern, or a quantified one, as a plan.Walk.
type walkBinder struct {
	*patternBinder
	w *plan.Walk
	// own are the columns that the walk binds, between its ends.
	own plan.ColSet
}

var selections = map[ast.Search]plan.Select{
	ast.SearchShortest: plan.SelectPaths, ast.SearchAny: plan.SelectPaths, ast.SearchAllShortest: plan.SelectGroups,
	ast.SearchShortestGroups: plan.SelectGroups,
}

// selected binds a path with a selector such as SHORTEST 2 and returns its columns.
func (p *patternBinder) selected(path *ast.PathPattern) []plan.Col {
	w := &walkBinder{patternBinder: p, w: &plan.Walk{Select: selections[path.Search], Count: p.opt(path.Count)}, own: plan.NewColSet()}
	elements, where := path.Elements, ast.Expr(nil)
	if len(elements) == 1 {
		if sub, ok := elements[0].(*ast.SubpathPattern); ok && sub.Quantifier == nil {
			elements, where = sub.Path.Elements, sub.Where
		}
	}
	nodes, steps, ok := p.alternate(elements)
	if !ok {
		return nil
	}
	cols := []plan.Col{p.node(nodes[0])}
	if len(steps) == 0 {
		p.where(where)
		return cols
	}
	right := p.node(nodes[len(nodes)-1])
	for _, n := range nodes[1 : len(nodes)-1] {
		w.w.Nodes = append(w.w.Nodes, plan.WalkNode{Col: w.between(n)})
	}
	for i, s := range steps {
		left := cols[0]
		if i > 0 {
			left = w.w.Nodes[i-1].Col
		}
		w.part(s, left)
	}
	for i := range w.w.Parts {
		cols = append(cols, w.w.Parts[i].Edges)
		if i < len(w.w.Nodes) {
			cols = append(cols, w.w.Nodes[i].Col)
		}
	}
	cols = append(cols, right)
	w.where(where)
	p.m.Pattern.Edges = append(p.m.Pattern.Edges, w.edge(cols[0], right, p.newCol("", graph.List)))
	return cols
}

// repeated binds a quantified path and returns the column of its edges.
func (p *patternBinder) repeated(s *ast.SubpathPattern, left, right plan.Col) plan.Col {
	w := &walkBinder{patternBinder: p, w: &plan.Walk{}, own: plan.NewColSet()}
	w.part(s, left)
	if len(w.w.Parts) == 0 {
		return left
	}
	edges := w.w.Parts[0].Edges
	p.m.Pattern.Edges = append(p.m.Pattern.Edges, w.edge(left, right, edges))
	return edges
}

// alternate returns the nodes of a path and the elements between them, and adds nodes where the text omits them.
func (p *patternBinder) alternate(elements []ast.PathElement) (nodes []*ast.NodePattern, steps []ast.PathElement, ok bool) {
	for _, el := range elements {
		n, isNode := el.(*ast.NodePattern)
		switch {
		case isNode && len(nodes) > len(steps):
			p.unsupported(el, "a node pattern beside a node pattern is")
			return nil, nil, false
		case isNode:
			nodes = append(nodes, n)
			continue
		case len(nodes) == len(steps):
			nodes = append(nodes, &ast.NodePattern{At: ast.At{Pos: el.Position()}})
		}
		steps = append(steps, el)
	}
	if len(nodes) == len(steps) {
		nodes = append(nodes, &ast.NodePattern{At: ast.At{Pos: elements[len(elements)-1].Position()}})
	}
	return nodes, steps, true
}

// edge returns the edge of the pattern that represents the walk.
func (w *walkBinder) edge(left, right, col plan.Col) plan.PatEdge {
	e := plan.PatEdge{Col: col, Left: left, Right: right, Walk: w.w, Length: &plan.Length{}}
	w.fresh[col] = true
	least, most := int64(0), int64(0)
	for i := range w.w.Parts {
		part := &w.w.Parts[i]
		lo, hi := int64(1), int64(1)
		if part.Repeat {
			lo, hi = intOr(part.Min, 1), intOr(part.Max, -1)
		}
		least += lo * int64(len(part.Hops))
		if most >= 0 {
			most += hi * int64(len(part.Hops))
		}
		if hi < 0 {
			most = -1
		}
		for j, h := range part.Hops {
			switch {
			case i == 0 && j == 0:
				e.Types, e.Dir = h.Types, h.Dir
			case len(e.Types) == 0 || len(h.Types) == 0:
				e.Types = nil
			default:
				e.Types = append(slices.Clip(e.Types), h.Types...)
			}
			if h.Dir != e.Dir {
				e.Dir = graph.Both
			}
		}
	}
	e.Length.Min = &plan.Const{Value: graph.IntValue(least)}
	if most >= 0 {
		e.Length.Max = &plan.Const{Value: graph.IntValue(most)}
	}
	return e
}

// intOr is the value of a constant bound, or another.
func intOr(e plan.Expr, other int64) int64 {
	if c, ok := e.(*plan.Const); ok && c.Value.Kind() == graph.Int {
		return c.Value.Int()
	}
	return other
}

// single creates a column for a vertex or an edge that occurs once in the walk. If its variable is already bound, the two must be
// equal.
func (w *walkBinder) single(v *ast.Variable, kind graph.ValueKind) plan.Col {
	c := w.newCol(name(v), kind)
	w.own.Add(c)
	w.fresh[c] = true
	if v == nil {
		return c
	}
	if w.scope.find(v.Name) == nil {
		w.declare(v.Name, c)
		return c
	}
	w.later = append(w.later, func() { w.place(op(plan.Eq, v.Pos, w.ref(c), w.expr(v))) })
	return c
}

// between binds a node between two parts.
func (w *walkBinder) between(n *ast.NodePattern) plan.Col {
	c := w.single(n.Variable, graph.VertexKind)
	if n.Labels != nil {
		w.later = append(w.later, func() { w.place(w.hasLabels(n.Labels, func() plan.Expr { return w.ref(c) })) })
	}
	w.conditions(n.Properties, func() plan.Expr { return w.ref(c) }, w.place)
	w.where(n.Where)
	return c
}

func (w *walkBinder) where(e ast.Expr) {
	if e != nil {
		w.later = append(w.later, func() { w.place(w.expr(e)) })
	}
}

// place assigns conditions to where they can be tested first: a part, a node, the whole walk or, if they concern only its ends,
// outside the walk.
func (w *walkBinder) place(e plan.Expr) {
	for _, c := range conjuncts(e) {
		where := w.home(plan.Reads(c))
		*where = append(*where, c)
	}
}

func (w *walkBinder) home(reads plan.ColSet) *[]plan.Expr {
	mine := plan.NewColSet()
	others := false
	for c := range reads.All() {
		if w.own.Has(c) {
			mine.Add(c)
		} else if w.fresh[c] {
			others = true
		}
	}
	if mine.Len() == 0 {
		return &w.m.Pattern.Preds
	}
	if mine.Len() == 1 && !others {
		for i := range w.w.Parts {
			if p := &w.w.Parts[i]; !p.Repeat && mine.Has(p.Edges) {
				return &p.Where
			}
		}
		for i := range w.w.Nodes {
			if n := &w.w.Nodes[i]; mine.Has(n.Col) {
				return &n.Where
			}
		}
	}
	return &w.w.Where
}

// part adds a relationship or a parenthesised path that begins at the vertex left.
func (w *walkBinder) part(el ast.PathElement, left plan.Col) {
	switch el := el.(type) {
	case *ast.RelationshipPattern:
		length := el.Length
		if el.Quantifier != nil {
			length = el.Quantifier
		}
		if length == nil {
			w.once(el)
			return
		}
		one := *el
		one.Length, one.Quantifier = nil, nil
		w.repeat(&ast.NodePattern{At: el.At}, []hopPattern{{&one, &ast.NodePattern{At: el.At}}}, length, nil, left)
	case *ast.SubpathPattern:
		first, hops, ok := hopsOf(el.Path)
		if !ok || el.Quantifier == nil {
			w.unsupported(el, "a parenthesised path of this form is")
			return
		}
		w.repeat(first, hops, el.Quantifier, el.Where, left)
	}
}

// once adds a relationship.
func (w *walkBinder) once(r *ast.RelationshipPattern) {
	c := w.single(r.Variable, graph.EdgeKind)
	part := plan.WalkPart{Edges: c, Nodes: []plan.Col{w.newCol("", graph.VertexKind), w.newCol("", graph.VertexKind)}}
	hop := plan.WalkHop{Edge: c, Dir: directions[r.Direction]}
	types, plain := ast.Disjunction(r.Types)
	if plain {
		hop.Types = types
	} else {
		w.later = append(w.later, func() { w.place(w.hasLabels(r.Types, func() plan.Expr { return w.ref(c) })) })
	}
	part.Hops = []plan.WalkHop{hop}
	w.w.Parts = append(w.w.Parts, part)
	w.conditions(r.Properties, func() plan.Expr { return w.ref(c) }, w.place)
	w.where(r.Where)
}

// hopPattern is a relationship and the node that it leads to.
type hopPattern struct {
	r *ast.RelationshipPattern
	n *ast.NodePattern
}

// hopsOf takes a path of single relationships apart.
func hopsOf(p *ast.PathPattern) (first *ast.NodePattern, hops []hopPattern, ok bool) {
	if len(p.Elements) < 3 || p.Search != ast.SearchNone || p.Variable != nil {
		return nil, nil, false
	}
	first, ok = p.Elements[0].(*ast.NodePattern)
	for i := 1; ok && i+1 < len(p.Elements); i += 2 {
		r, okR := p.Elements[i].(*ast.RelationshipPattern)
		n, okN := p.Elements[i+1].(*ast.NodePattern)
		if !okR || !okN || r.Length != nil || r.Quantifier != nil {
			return nil, nil, false
		}
		hops = append(hops, hopPattern{r, n})
	}
	return first, hops, ok && len(p.Elements)%2 == 1
}

// repeat adds a repeated part. Within it, a variable is a vertex or an edge; outside, it is the list of the matches of all
// repetitions.
func (w *walkBinder) repeat(first *ast.NodePattern, hops []hopPattern, length *ast.Range, where ast.Expr, left plan.Col) {
	l := w.length(length)
	part := plan.WalkPart{Repeat: true, Min: l.Min, Max: l.Max, Edges: w.newCol("", graph.List)}
	w.own.Add(part.Edges)
	w.fresh[part.Edges] = true
	edges, at := part.Edges, len(w.w.Parts)
	names := scope{}
	var groups []*binding
	cond := func(e plan.Expr) {
		p := &w.w.Parts[at]
		p.Where = append(p.Where, conjuncts(e)...)
	}
	ref := func(c plan.Col) func() plan.Expr { return func() plan.Expr { return &plan.ColRef{Col: c} } }
	// bind creates the column of an element and the list of its variable.
	bind := func(v *ast.Variable, kind graph.ValueKind, all func() plan.Expr) plan.Col {
		c := w.newCol(name(v), kind)
		if v == nil {
			return c
		}
		if same := names.find(v.Name); same != nil {
			w.later = append(w.later, func() { cond(op(plan.Eq, v.Pos, ref(c)(), ref(same.col)())) })
			return c
		}
		names = names.with(&binding{name: v.Name, col: c})
		groups = append(groups, &binding{name: v.Name, alias: all})
		return c
	}
	node := func(n *ast.NodePattern, i int) {
		c := bind(n.Variable, graph.VertexKind, func() plan.Expr { return w.everyNode(left, edges, i, len(hops)) })
		part.Nodes = append(part.Nodes, c)
		if n.Labels != nil {
			w.later = append(w.later, func() { cond(w.hasLabels(n.Labels, ref(c))) })
		}
		w.inside(&names, func() { w.conditions(n.Properties, ref(c), cond) })
		w.condition(&names, n.Where, cond)
	}
	node(first, 0)
	for i, h := range hops {
		c := bind(h.r.Variable, graph.EdgeKind, func() plan.Expr { return w.everyEdge(edges, i, len(hops)) })
		hop := plan.WalkHop{Edge: c, Dir: directions[h.r.Direction]}
		if types, plain := ast.Disjunction(h.r.Types); plain {
			hop.Types = types
		} else {
			w.later = append(w.later, func() { cond(w.hasLabels(h.r.Types, ref(c))) })
		}
		part.Hops = append(part.Hops, hop)
		w.inside(&names, func() { w.conditions(h.r.Properties, ref(c), cond) })
		w.condition(&names, h.r.Where, cond)
		node(h.n, i+1)
	}
	w.condition(&names, where, cond)
	w.w.Parts = append(w.w.Parts, part)
	for _, g := range groups {
		w.scope = w.scope.with(g)
	}
}

// inside has what add puts off bound with names in scope.
func (w *walkBinder) inside(names *scope, add func()) {
	n := len(w.later)
	add()
	for i := n; i < len(w.later); i++ {
		f := w.later[i]
		w.later[i] = func() {
			outer := w.scope
			w.scope = outer.with(names.all()...)
			f()
			w.scope = outer
		}
	}
}

func (w *walkBinder) condition(names *scope, e ast.Expr, cond func(plan.Expr)) {
	if e != nil {
		w.inside(names, func() { w.later = append(w.later, func() { cond(w.expr(e)) }) })
	}
}

// everyEdge returns the list of the edges at place i of each repetition of n edges.
func (w *walkBinder) everyEdge(edges plan.Col, i, n int) plan.Expr {
	if n == 1 {
		return w.ref(edges)
	}
	return w.every(w.ref(edges), w.ref(edges), i, n)
}

// everyNode returns the list of the vertices before edge i, or after the last, of each repetition.
func (w *walkBinder) everyNode(left, edges plan.Col, i, n int) plan.Expr {
	w.use(left)
	w.use(edges)
	nodes, wrap := w.let(&plan.Call{Func: "nodes", Args: []plan.Expr{&plan.MakePath{Cols: []plan.Col{left, edges}}}})
	return wrap(w.every(w.ref(edges), nodes, i, n))
}

// every returns [k IN range(0, size(edges) - 1, n) | list[k + i]].
func (w *walkBinder) every(edges, list plan.Expr, i, n int) plan.Expr {
	number := func(n int) plan.Expr { return &plan.Const{Value: graph.IntValue(int64(n))} }
	k := w.newCol("", graph.Int)
	last := op(plan.Sub, graph.Pos{}, &plan.Call{Func: "size", Args: []plan.Expr{edges}}, number(1))
	return &plan.Comprehension{
		Var: k, List: &plan.Call{Func: "range", Args: []plan.Expr{number(0), last, number(n)}},
		Map: op(plan.Index, graph.Pos{}, list, op(plan.Add, graph.Pos{}, &plan.ColRef{Col: k}, number(i))),
	}
}
