package plan

import (
	"maps"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// Parts calls f with a pointer to each direct part of an expression, which f may read or replace. The subplan of a Subquery is
// not a part; its collected expression, over the columns of the subplan, is.
func Parts(e Expr, f func(*Expr)) { Subexprs(e, f) }

// HopParams returns the names of the parameters that bound the lengths of patterns in a plan that is not optimized, sorted.
func HopParams(q *Query) []string {
	seen := map[string]struct{}{}
	hopBounds(q.Root, func(e *Expr) {
		if p, ok := (*e).(*Param); ok {
			seen[p.Name] = struct{}{}
		}
	})
	return slices.Sorted(maps.Keys(seen))
}

// SetHops replaces the parameters that bound the lengths of patterns by values in an unoptimized plan.
func SetHops(q *Query, values map[string]graph.Value) {
	hopBounds(q.Root, func(e *Expr) {
		if p, ok := (*e).(*Param); ok {
			n, _ := values[p.Name].Whole()
			*e = &Const{Value: graph.IntValue(n)}
		}
	})
}

// hopBounds calls f once with a pointer to each bound of a variable length.
func hopBounds(n Node, f func(*Expr)) {
	if m, ok := n.(*Match); ok {
		for i := range m.Pattern.Edges {
			if l := m.Pattern.Edges[i].Length; l != nil {
				f(&l.Min)
				f(&l.Max)
			}
		}
	}
	n.inputs(func(c *Node) { hopBounds(*c, f) })
	EachPlan(n, func(c *Node) { hopBounds(*c, f) })
}

// Params returns the names of the parameters that a plan reads, sorted.
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
		Subexprs(*p, expr)
	}
	node = func(n Node) {
		n.exprs(expr)
		n.inputs(func(c *Node) { node(*c) })
	}
	node(q.Root)
	if q.AsOf != nil {
		expr(&q.AsOf)
	}
	return slices.Sorted(maps.Keys(seen))
}
