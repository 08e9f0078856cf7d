package plan

import (
	"maps"
	"slices"
)

// Parts calls f with a pointer to each direct part of an expression, so that f may look at it or replace it. The subplan
// of a Subquery is not one; what a Subquery collects is, over the columns of the subplan.
func Parts(e Expr, f func(*Expr)) { subexprs(e, f) }

// Params gives the names of the parameters that a plan reads, sorted.
func Params(q *Query) []string {
	seen := map[string]struct{}{}
	var expr func(*Expr)
	var node func(Node)
	expr = func(p *Expr) {
		switch e := (*p).(type) {
		case *Param:
			seen[e.Name] = struct{}{}
		case *Subquery:
			node(e.Sub)
		}
		subexprs(*p, expr)
	}
	node = func(n Node) {
		exprs(n, expr)
		inputs(n, func(c *Node) { node(*c) })
	}
	node(q.Root)
	return slices.Sorted(maps.Keys(seen))
}
