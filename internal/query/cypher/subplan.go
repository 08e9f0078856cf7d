package cypher

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/query/plan/optimize"
)

// inner runs f with the current variables as the outer ones of a subplan, and restores the scope.
func (b *expressions) inner(lasting bool, f func()) {
	scope, aggs, operand := b.scope, b.aggs, b.operand
	b.aggs = nil
	b.open(scope, lasting)
	f()
	b.close()
	b.scope, b.aggs, b.operand = scope, aggs, operand
}

// patternSubquery is a subplan that matches a pattern; value, if any, is what is collected.
func (b *binder) patternSubquery(kind plan.ApplyKind, paths []*ast.PathPattern, where, value ast.Expr) *plan.Subquery {
	s := &plan.Subquery{Kind: kind}
	b.inner(true, func() {
		m := &plan.Match{Input: b.start()}
		b.pattern(m, paths, where)
		s.Sub = m
		if value != nil {
			s.Expr = b.expr(value)
		}
	})
	return s
}

var subqueryKinds = map[ast.SubqueryKind]plan.ApplyKind{
	ast.SubqueryExists: plan.Exists, ast.SubqueryCount: plan.CountRows, ast.SubqueryCollect: plan.Collect,
}

func (b *binder) subquery(e *ast.Subquery) plan.Expr {
	kind := subqueryKinds[e.Kind]
	if e.Query == nil {
		return b.patternSubquery(kind, e.Pattern, e.Where, nil)
	}
	s := &plan.Subquery{Kind: kind}
	b.inner(true, func() {
		outer := b.scope
		r := b.query(e.Query, func(*ast.SingleQuery) scope { return outer })
		s.Sub = r.node
		if kind == plan.Collect {
			if len(r.cols) != 1 {
				b.fail(graph.SyntaxError("UnexpectedSyntax", e.Pos, "COLLECT must return one column"))
				return
			}
			s.Expr = b.ref(r.cols[0])
		}
	})
	return s
}

// pathSearch is shortestPath(…) or allShortestPaths(…) as a value.
func (b *binder) pathSearch(e *ast.PathSearch) plan.Expr {
	path := *e.Path
	if path.Variable == nil {
		path.Variable = &ast.Variable{At: e.At, Name: ""}
	}
	all := b.patternSubquery(plan.Collect, []*ast.PathPattern{&path}, nil, path.Variable)
	if path.Search == ast.SearchAllShortestPaths {
		return all
	}
	return &plan.Call{Func: "head", Args: []plan.Expr{all}, Pos: e.Pos}
}

// callSubquery is CALL {…}.
func (b *binder) callSubquery(f *flow, c *ast.CallSubquery) {
	visible := b.scope
	if c.Scoped && !c.ImportAll {
		visible = scope{}
		for _, v := range c.Imports {
			visible = visible.with(&binding{name: v.Name, col: b.stored(f, v)})
		}
	}
	before := b.scope
	if c.InTransactions != nil {
		b.ownTransactions(c)
	}
	b.open(visible, c.Scoped)
	r := b.query(c.Query, func(q *ast.SingleQuery) scope {
		if _, ok := q.Clauses[0].(*ast.With); c.Scoped || ok {
			return visible
		}
		return scope{}
	})
	if r.returns {
		r = b.distinctColumns(r)
	}
	together := b.close().batchable(r.returns)
	if together {
		optimize.OrderWrites(r.node)
	}
	b.scope = before
	if c.InTransactions != nil {
		b.inTransactions(f, c, r, together)
		return
	}
	b.admit(f)
	one := f.one && r.one
	apply := &plan.Apply{Input: f.node, Sub: r.node, Kind: plan.Inner, Cols: r.cols, Batched: together}
	if c.Optional {
		apply.Kind = plan.Optional
	}
	if !r.returns {
		// A unit subquery keeps its input's rows: the aggregate without keys returns one row for each.
		apply.Sub, apply.Kind, one = &plan.Aggregate{Input: r.node}, plan.Inner, f.one
	}
	f.node, f.one = apply, one
	for i, name := range r.names {
		b.declare(name, r.cols[i])
	}
}

// stored returns the column of a variable, which is made where the variable is only computed.
func (b *binder) stored(f *flow, v *ast.Variable) plan.Col {
	bd := b.scope.find(v.Name)
	if bd == nil || bd.alias == nil {
		return b.resolve(v)
	}
	c := b.newCol(v.Name, graph.Null)
	f.node = &plan.Project{Input: f.node, Items: []plan.Item{{Col: c, Expr: bd.alias()}}, Keep: true}
	b.scope = b.scope.with(&binding{name: v.Name, col: c})
	return c
}

// distinctColumns copies the columns of the innermost subplan's result that are outer columns or repeat, so that each is a column of its own.
func (b *binder) distinctColumns(r result) result {
	fr := b.frames[len(b.frames)-1]
	p := &plan.Project{Input: r.node}
	cols := make([]plan.Col, 0, len(r.cols))
	seen, needed := map[plan.Col]bool{}, false
	for i, c := range r.cols {
		out := c
		if seen[c] || fr.around(c) {
			out, needed = b.newCol(r.names[i], b.kind(c)), true
		}
		seen[c] = true
		p.Items = append(p.Items, plan.Item{Col: out, Expr: b.ref(c)})
		cols = append(cols, out)
	}
	if needed {
		r.node, r.cols = p, cols
	}
	return r
}

// foreach is FOREACH (variable IN list | clauses).
func (b *binder) foreach(f *flow, c *ast.Foreach) {
	n := &plan.Foreach{}
	list := b.effects(func() { n.List = b.expr(c.List) })
	n.Var = b.newCol(c.Variable.Name, graph.Null)
	before := b.scope
	b.declare(c.Variable.Name, n.Var)
	b.open(b.scope, true)
	sub := &flow{node: b.start(), one: true}
	for _, inner := range c.Clauses {
		b.clause(sub, inner, nil)
	}
	n.Batched = b.close().batchable(false)
	b.scope = before
	b.fx.alone = b.fx.touches(list)
	if n.Sub = sub.node; n.Batched {
		optimize.OrderWrites(n.Sub)
	}
	b.admit(f)
	n.Input = f.node
	f.node = n
}
