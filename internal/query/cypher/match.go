package cypher

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// match binds [OPTIONAL] MATCH.
func (b *binder) match(f *flow, c *ast.Match) {
	m := &plan.Match{Optional: c.Optional}
	b.connected(c)
	b.pattern(m, c.Pattern, c.Where)
	if c.Mode == ast.MatchRepeatable {
		for i := range m.Pattern.Edges {
			m.Pattern.Edges[i].Group = i
		}
	}
	if !c.Optional {
		b.fx.finds = b.lone(&m.Pattern)
	}
	b.admit(f)
	m.Input = f.node
	f.node, f.one = m, false
}

// lone returns the only vertex of a pattern that reads nothing but this vertex, or 0.
func (b *binder) lone(p *plan.Pattern) plan.Col {
	if len(p.Vertices) != 1 || len(p.Edges) > 0 || p.Vertices[0].Bound {
		return 0
	}
	v := p.Vertices[0].Col
	for _, e := range p.Preds {
		if plan.HasSubquery(e) {
			return 0
		}
		for col := range plan.Reads(e).All() {
			if col != v && !b.scalar[col] {
				return 0
			}
		}
	}
	return v
}

// patternBinder binds the paths of one pattern.
type patternBinder struct {
	*binder
	m *plan.Match
	// fresh are the columns that the pattern binds.
	fresh  map[plan.Col]bool
	vertex map[plan.Col]int // place in Pattern.Vertices
	// later are the conditions inside the pattern, which may read any of its variables.
	later []func()
}

// pattern binds paths and their WHERE as the pattern of m and declares its variables.
func (b *binder) pattern(m *plan.Match, paths []*ast.PathPattern, where ast.Expr) {
	p := &patternBinder{binder: b, m: m, fresh: map[plan.Col]bool{}, vertex: map[plan.Col]int{}}
	b.matches = append(b.matches, m)
	for _, path := range paths {
		p.path(path)
	}
	p.where(where)
	p.finish()
}

// finish binds the conditions after all variables.
func (p *patternBinder) finish() {
	for _, f := range p.later {
		f()
	}
	p.fx.reading(&p.m.Pattern)
}

func (p *patternBinder) pred(e plan.Expr) {
	p.m.Pattern.Preds = append(p.m.Pattern.Preds, conjuncts(e)...)
}

// path binds one path pattern and its variable.
func (p *patternBinder) path(path *ast.PathPattern) {
	if path.Search > ast.SearchAllShortestPaths {
		p.pathVariable(path, p.selected(path))
		return
	}
	elements := path.Elements
	for len(elements) == 1 {
		sub, ok := elements[0].(*ast.SubpathPattern)
		if !ok || sub.Quantifier != nil || sub.Path.Search != ast.SearchNone || sub.Path.Variable != nil {
			break
		}
		// A parenthesised path is the path.
		elements = sub.Path.Elements
		p.where(sub.Where)
	}
	p.pathVariable(path, p.elements(elements, p.search(path)))
}

// pathVariable binds the variable of a path with the given columns, if it has one.
func (p *patternBinder) pathVariable(path *ast.PathPattern, cols []plan.Col) {
	if path.Variable != nil {
		c := p.newCol(path.Variable.Name, graph.PathKind)
		p.fresh[c] = true
		p.declare(path.Variable.Name, c)
		p.m.Pattern.Paths = append(p.m.Pattern.Paths, plan.PatPath{Col: c, Cols: cols})
	}
}

// search returns plan.PatEdge.Shortest.
func (p *patternBinder) search(path *ast.PathPattern) string {
	var s string
	switch path.Search {
	case ast.SearchNone:
		return ""
	case ast.SearchShortestPath:
		s = "single"
	case ast.SearchAllShortestPaths:
		s = "all"
	}
	if len(path.Elements) != 3 {
		p.unsupported(path, "a shortest path over more than one relationship pattern is")
	}
	return s
}

// elements binds the elements of a path and returns its columns: vertex, edge, vertex, ….
func (p *patternBinder) elements(elements []ast.PathElement, shortest string) []plan.Col {
	var cols []plan.Col
	var edge ast.PathElement // its right end is not bound yet
	vertex := func(n *ast.NodePattern) {
		v := p.node(n)
		if edge != nil {
			cols = append(cols, p.edge(edge, cols[len(cols)-1], v, shortest))
			edge = nil
		}
		cols = append(cols, v)
	}
	for _, el := range elements {
		switch el := el.(type) {
		case *ast.NodePattern:
			if len(cols) > 0 && edge == nil {
				p.unsupported(el, "a node pattern beside a node pattern is")
				return cols
			}
			vertex(el)
		default:
			if edge != nil || len(cols) == 0 {
				vertex(&ast.NodePattern{At: ast.At{Pos: el.Position()}})
			}
			edge = el
		}
	}
	if edge != nil {
		vertex(&ast.NodePattern{At: ast.At{Pos: edge.Position()}})
	}
	return cols
}

// node binds a node pattern and returns its column.
func (p *patternBinder) node(n *ast.NodePattern) plan.Col {
	c, bound := p.variable(n.Variable, graph.VertexKind)
	labels := p.labels(n.Labels, func() plan.Expr { return p.ref(c) }, p.pred)
	if i, ok := p.vertex[c]; ok {
		v := &p.m.Pattern.Vertices[i]
		v.Labels = andLabels(v.Labels, labels)
	} else {
		p.vertex[c] = len(p.m.Pattern.Vertices)
		p.m.Pattern.Vertices = append(p.m.Pattern.Vertices, plan.PatVertex{Col: c, Labels: labels, Bound: bound})
	}
	p.conditions(n.Properties, func() plan.Expr { return p.ref(c) }, p.pred)
	p.where(n.Where)
	return c
}

func andLabels(a, b *plan.LabelExpr) *plan.LabelExpr {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return &plan.LabelExpr{Op: plan.LabelAnd, Args: []*plan.LabelExpr{a, b}}
}

// variable returns the column of a variable of the pattern, creating it at the first occurrence, and whether the input provides
// it.
func (p *patternBinder) variable(v *ast.Variable, kind graph.ValueKind) (plan.Col, bool) {
	if v == nil {
		c := p.newCol("", kind)
		p.fresh[c] = true
		return c, false
	}
	if p.scope.find(v.Name) != nil {
		c := p.resolve(v)
		return c, !p.fresh[c]
	}
	c := p.newCol(v.Name, kind)
	p.fresh[c] = true
	p.declare(v.Name, c)
	return c, false
}

// conditions adds the equalities of the property map of a pattern element to a list. x creates references to the element.
func (p *patternBinder) conditions(props ast.Expr, x func() plan.Expr, add func(plan.Expr)) {
	switch props := props.(type) {
	case nil:
	case *ast.MapLit:
		p.later = append(p.later, func() {
			for _, e := range props.Entries {
				p.fx.keys.add(e.Key)
				add(op(plan.Eq, e.Pos, &plan.Prop{X: x(), Key: e.Key}, p.expr(e.Value)))
			}
		})
	default:
		p.fail(graph.SyntaxError("InvalidParameterUse", props.Position(),
			"a parameter cannot be the property map of a pattern here"))
	}
}

// where adds the predicate of a pattern element.
func (p *patternBinder) where(where ast.Expr) {
	if where != nil {
		p.later = append(p.later, func() { p.pred(p.expr(where)) })
	}
}

// edge binds a relationship pattern, or a quantified path that is one, between two columns, and returns its column.
func (p *patternBinder) edge(el ast.PathElement, left, right plan.Col, shortest string) plan.Col {
	if sub, ok := el.(*ast.SubpathPattern); ok {
		return p.quantified(sub, left, right)
	}
	r := el.(*ast.RelationshipPattern)
	e := plan.PatEdge{Left: left, Right: right, Dir: directions[r.Direction], Shortest: shortest}
	if r.Length == nil && r.Quantifier == nil {
		e.Col, e.Bound = p.variable(r.Variable, graph.EdgeKind)
		c := e.Col
		p.types(&e, r, p.pred, func() plan.Col { return c })
		p.conditions(r.Properties, func() plan.Expr { return p.ref(c) }, p.pred)
		p.where(r.Where)
		p.m.Pattern.Edges = append(p.m.Pattern.Edges, e)
		return e.Col
	}
	if r.Quantifier != nil {
		e.Length = p.length(r.Quantifier)
	} else {
		e.Length = p.length(r.Length)
	}
	v := p.varEdge(e, r.Variable)
	p.types(v.edge(), r, v.add, v.each)
	p.conditions(r.Properties, func() plan.Expr { return p.ref(v.each()) }, v.add)
	if r.Where != nil {
		v.where(r.Where, &binding{name: name(r.Variable), col: v.each()})
	}
	return v.edge().Col
}

var directions = map[ast.Direction]graph.Direction{
	ast.DirectionBoth: graph.Both, ast.DirectionOut: graph.Out, ast.DirectionIn: graph.In,
}
