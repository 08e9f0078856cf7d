package cypher

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// length returns the bounds of a repetition; the default minimum is 1.
func (p *patternBinder) length(r *ast.Range) *plan.Length {
	l := &plan.Length{Min: p.opt(r.Min), Max: p.opt(r.Max)}
	if l.Min == nil {
		l.Min = &plan.Const{Value: graph.IntValue(1)}
	}
	return l
}

// varEdge is a variable length relationship of the pattern.
type varEdge struct {
	p *patternBinder
	i int // in Pattern.Edges
}

// varEdge adds a variable length relationship to the pattern. v names its list of edges.
func (p *patternBinder) varEdge(e plan.PatEdge, v *ast.Variable) varEdge {
	var bound bool
	e.Col, bound = p.variable(v, graph.List)
	if bound {
		// The list must be the one that the input has.
		given := p.ref(e.Col)
		e.Col = p.newCol("", graph.List)
		p.fresh[e.Col] = true
		p.pred(op(plan.Eq, v.Pos, p.ref(e.Col), given))
	}
	p.m.Pattern.Edges = append(p.m.Pattern.Edges, e)
	return varEdge{p, len(p.m.Pattern.Edges) - 1}
}

func (v varEdge) edge() *plan.PatEdge { return &v.p.m.Pattern.Edges[v.i] }

// each returns the column that represents one edge in the conditions on each.
func (v varEdge) each() plan.Col {
	e := v.edge()
	if e.EdgeVar == 0 {
		e.EdgeVar = v.p.newCol("", graph.EdgeKind)
	}
	return e.EdgeVar
}

// add adds a condition on each edge.
func (v varEdge) add(x plan.Expr) {
	v.edge().Where = append(v.edge().Where, conjuncts(x)...)
}

// where adds a condition in which the names refer to the edge and its ends.
func (v varEdge) where(e ast.Expr, names ...*binding) {
	if e == nil {
		return
	}
	v.p.later = append(v.p.later, func() {
		outer := v.p.scope
		v.p.scope = outer.with(names...)
		v.add(v.p.expr(e))
		v.p.scope = outer
	})
}

// quantified binds a quantified path pattern. A pattern of one relationship, ((x)-[r]->(y) WHERE …){m,n}, is a variable length
// relationship; its conditions on x and y apply to the ends of each edge.
func (p *patternBinder) quantified(s *ast.SubpathPattern, left, right plan.Col) plan.Col {
	x, r, y, ok := step(s)
	if !ok || r.Direction == ast.DirectionBoth && (constrained(x) || constrained(y)) || x.Variable != nil && name(x.Variable) == name(y.Variable) {
		return p.repeated(s, left, right)
	}
	e := plan.PatEdge{Left: left, Right: right, Dir: directions[r.Direction], Length: p.length(s.Quantifier)}
	v := p.varEdge(e, r.Variable)
	p.types(v.edge(), r, v.add, v.each)
	p.conditions(r.Properties, func() plan.Expr { return p.ref(v.each()) }, v.add)
	names := []*binding{{name: name(r.Variable), col: v.each()}}
	from, to := "startnode", "endnode"
	if r.Direction == ast.DirectionIn {
		from, to = to, from
	}
	var groups []*binding
	for _, end := range []struct {
		node *ast.NodePattern
		fn   string
	}{{x, from}, {y, to}} {
		one, all := v.end(end.fn)
		names = append(names, &binding{name: name(end.node.Variable), alias: one})
		groups = append(groups, &binding{name: name(end.node.Variable), alias: all})
		if end.node.Labels != nil {
			v.add(p.hasLabels(end.node.Labels, one))
		}
		p.conditions(end.node.Properties, one, v.add)
	}
	for _, w := range []ast.Expr{x.Where, r.Where, y.Where, s.Where} {
		v.where(w, names...)
	}
	for _, g := range groups {
		if g.name != "" {
			p.scope = p.scope.with(g)
		}
	}
	return v.edge().Col
}

// constrained reports whether a node pattern has a variable, labels, properties or a condition.
func constrained(n *ast.NodePattern) bool {
	return n.Variable != nil || n.Labels != nil || n.Properties != nil || n.Where != nil
}

// end returns the expressions for the node at one end of each edge: of one edge, and of all as a list.
func (v varEdge) end(fn string) (one, all func() plan.Expr) {
	edge, edges := v.each(), v.edge().Col
	one = func() plan.Expr { return &plan.Call{Func: fn, Args: []plan.Expr{v.p.ref(edge)}} }
	all = func() plan.Expr {
		e := v.p.newCol("", graph.EdgeKind)
		return &plan.Comprehension{
			Var: e, List: v.p.ref(edges),
			Map: &plan.Call{Func: fn, Args: []plan.Expr{&plan.ColRef{Col: e}}},
		}
	}
	return one, all
}

// step returns the parts of a path pattern of one relationship without a length.
func step(s *ast.SubpathPattern) (x *ast.NodePattern, r *ast.RelationshipPattern, y *ast.NodePattern, ok bool) {
	if len(s.Path.Elements) != 3 || s.Path.Search != ast.SearchNone || s.Path.Variable != nil || s.Quantifier == nil {
		return nil, nil, nil, false
	}
	x, okX := s.Path.Elements[0].(*ast.NodePattern)
	r, okR := s.Path.Elements[1].(*ast.RelationshipPattern)
	y, okY := s.Path.Elements[2].(*ast.NodePattern)
	return x, r, y, okX && okR && okY && r.Length == nil && r.Quantifier == nil
}

func name(v *ast.Variable) string {
	if v == nil {
		return ""
	}
	return v.Name
}

// types binds the condition on an edge's type: a choice of names is the edge's own, any other a condition on each.
func (p *patternBinder) types(e *plan.PatEdge, r *ast.RelationshipPattern, add func(plan.Expr), each func() plan.Col) {
	if names, ok := ast.Disjunction(r.Types); ok {
		e.Types = names
		return
	}
	add(p.hasLabels(r.Types, func() plan.Expr { return p.ref(each()) }))
}
