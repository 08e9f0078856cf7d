package check

import (
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// project checks WITH (with is set, and where may be) or RETURN, and returns the scope of the columns. aliased asks for an alias of
// every expression in RETURN too. An item beside * takes the place of the variable of its name, as in Neo4j.
func (c *checker) project(p *ast.Projection, in *scope, with, aliased bool, where ast.Expr) *scope {
	if p.Star && !with && in.vars.Len() == 0 && in.outer == nil {
		fail(noVariablesInScope, p, "RETURN * needs at least one variable in scope")
	}
	out := newScope(in.outer)
	if p.Star {
		out = out.over(in)
	}
	nameProjections(p.Items)
	grouped := false
	types := make([]typ, len(p.Items))
	for i, item := range p.Items {
		types[i] = c.expr(item.Expr, env{scope: in, aggregates: aggregatesAllowed})
		grouped = grouped || c.hasAggregate(item.Expr)
	}
	own := make(map[string]bool, len(p.Items))
	for i, item := range p.Items {
		name := item.Name()
		if own[name] {
			fail(columnNameConflict, item, "there is more than one column `%s`", name)
		}
		if _, ok := in.outer.lookup(name); ok && with && hides(item) {
			fail(variableAlreadyBound, item, "variable `%s` of the outer query cannot be defined again", name)
		}
		own[name] = true
		out.define(name, types[i])
	}
	if grouped {
		keys := c.groupingKeys(p, in)
		for _, item := range p.Items {
			if c.hasAggregate(item.Expr) {
				c.ambiguous(item.Expr, keys, in)
			}
		}
	}
	c.after(p, in, out, grouped, where)
	c.count(p.Skip, "SKIP")
	c.count(p.Limit, "LIMIT")
	for _, item := range p.Items {
		if _, ok := item.Expr.(*ast.Variable); !ok && item.Alias == nil && (with || aliased) {
			fail(noExpressionAlias, item, "an expression needs an alias here (use AS)")
		}
	}
	return out
}

// nameProjections names map projections without an alias after their variable.
func nameProjections(items []*ast.ProjectionItem) {
	for _, item := range items {
		if m, ok := item.Expr.(*ast.MapProjection); ok && item.Alias == nil {
			if v, ok := m.Subject.(*ast.Variable); ok {
				item.Alias = &ast.Variable{At: item.At, Name: v.Name}
			}
		}
	}
}

// hides reports whether a column reuses the name of a variable for another value.
func hides(item *ast.ProjectionItem) bool {
	v, ok := item.Expr.(*ast.Variable)
	return !ok || v.Name != item.Name()
}

// after checks ORDER BY and WHERE. After plain columns, they see the variables before and after the projection; after grouping
// or DISTINCT, only the columns, by name or by their expressions.
func (c *checker) after(p *ast.Projection, in, out *scope, grouped bool, where ast.Expr) {
	v := env{scope: out}
	if !grouped && !p.Distinct {
		if !p.Star { // which has those of in
			v.scope = out.over(in)
		}
	} else {
		v.columns = map[string]typ{}
		for _, item := range p.Items {
			v.columns[ast.Key(item.Expr)] = out.typeOf(item.Name())
		}
	}
	if grouped {
		v.aggregates = aggregatesMatched
	}
	var keys map[string]bool // of ORDER BY
	for _, s := range p.OrderBy {
		c.expr(s.Expr, v)
		if grouped && c.hasAggregate(s.Expr) {
			if keys == nil {
				keys = c.groupingKeys(p, in)
				for _, n := range out.names() {
					keys[ast.Key(&ast.Variable{Name: n})] = true
				}
			}
			c.ambiguous(s.Expr, keys, in)
		}
	}
	if where != nil {
		if c.hasAggregate(where) {
			fail(invalidAggregation, where, "WHERE cannot aggregate; give the aggregate an alias")
		}
		c.predicate(where, v)
	}
}

// groupingKeys returns the columns without aggregates that are variables or properties of variables, in normal form: only they
// may occur beside an aggregate, because for any other expression it is ambiguous whether a part of it is meant before or after
// grouping.
func (c *checker) groupingKeys(p *ast.Projection, in *scope) map[string]bool {
	keys := map[string]bool{}
	if p.Star {
		own := p.Names()
		for _, n := range in.names() {
			if !own[n] {
				keys[ast.Key(&ast.Variable{Name: n})] = true
			}
		}
	}
	for _, item := range p.Items {
		if simple(item.Expr) {
			keys[ast.Key(item.Expr)] = true
		}
	}
	return keys
}

// simple reports whether an expression is a variable or a property of one.
func simple(e ast.Expr) bool {
	for {
		switch x := e.(type) {
		case *ast.Variable:
			return true
		case *ast.Property:
			e = x.Subject
		default:
			return false
		}
	}
}

// ambiguous rejects an expression with aggregates that has, outside of them, a variable that is not a grouping key.
func (c *checker) ambiguous(e ast.Expr, keys map[string]bool, in *scope) {
	free(e, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.Variable:
			if !keys[ast.Key(x)] && !isFloat(x, in) {
				fail(ambiguousAggregation, x, "`%s` stands beside an aggregate but is no grouping key; project it in an earlier WITH", x.Name)
			}
		case *ast.Property:
			return !(simple(x) && keys[ast.Key(x)])
		case *ast.Subquery, *ast.PatternComprehension, *ast.PatternPredicate, *ast.PathSearch:
			return false
		}
		return !c.isAggregate(n)
	})
}

// free visits the parts of an expression, except for variables that it binds itself, as ast.Inspect does. It does not know the
// variables of patterns and subqueries.
func free(e ast.Node, visit func(n ast.Node) bool) {
	local := map[string]int{}
	var walk func(n ast.Node)
	within := func(vs []*ast.Variable, parts ...ast.Node) {
		for _, v := range vs {
			local[v.Name]++
		}
		for _, p := range parts {
			walk(p)
		}
		for _, v := range vs {
			local[v.Name]--
		}
	}
	walk = func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.Variable:
				if local[x.Name] > 0 {
					return false
				}
			case *ast.ListComprehension:
				walk(x.List)
				within([]*ast.Variable{x.Variable}, x.Where, x.Projection)
				return false
			case *ast.Quantifier:
				walk(x.List)
				within([]*ast.Variable{x.Variable}, x.Where)
				return false
			case *ast.Reduce:
				walk(x.Init)
				walk(x.List)
				within([]*ast.Variable{x.Accumulator, x.Variable}, x.Body, x.Where)
				return false
			}
			return visit(n)
		})
	}
	walk(e)
}

// count checks a number of rows to skip or keep: if constant, it must be an integer of at least 0.
func (c *checker) count(e ast.Expr, what string) {
	if e == nil {
		return
	}
	free(e, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.Variable, *ast.Subquery, *ast.PatternComprehension, *ast.PatternPredicate, *ast.PathSearch:
			fail(nonConstantExpression, n, "%s cannot depend on the rows", what)
		}
		return true
	})
	t := c.expr(e, env{scope: newScope(nil)})
	if !t.canBe(of(fn.Integer)) || t.kinds == fn.Null {
		fail(invalidArgumentType, e, "%s takes an integer, not %s", what, t.kinds)
	}
	if i, ok := e.(*ast.IntLit); ok && i.Value < 0 {
		fail(negativeIntegerArgument, e, "%s takes an integer from 0 on", what)
	}
}
