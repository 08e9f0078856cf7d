package cypher

import (
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// aggregates are the aggregating functions.
var aggregates = map[string]bool{
	"count": true, "sum": true, "avg": true, "min": true, "max": true, "collect": true, "stdev": true, "stdevp": true,
	"percentilecont": true, "percentiledisc": true,
}

// hasAggregate reports whether an expression aggregates the rows of its own clause.
func hasAggregate(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CountStar:
			found = true
		case *ast.Call:
			found = found || aggregates[strings.ToLower(n.Name)]
		case *ast.Subquery, *ast.PatternComprehension, *ast.PatternPredicate:
			return false
		}
		return !found
	})
	return found
}

// aggregation collects the aggregates of one projection.
type aggregation struct {
	b    *binder
	fx   *effects // of the clause
	aggs []plan.Agg
	like map[uint64][]int  // places in aggs, by the likeness of the calls
	cols map[plan.Col]bool // of aggs
}

// is reports whether a column holds an aggregate.
func (a *aggregation) is(c plan.Col) bool {
	return a.cols[c]
}

// add returns the column of an aggregate; equal aggregates share one.
func (a *aggregation) add(agg plan.Agg) plan.Expr {
	a.b.opts.Steps.Add(1)
	k := likeness(&plan.Call{Func: agg.Func, Args: agg.Args})
	for _, i := range a.like[k] {
		g := &a.aggs[i]
		if g.Func == agg.Func && g.Distinct == agg.Distinct && slices.EqualFunc(g.Args, agg.Args, equal) {
			return a.b.ref(g.Col)
		}
	}
	kind := graph.Null
	if (agg.Func == "min" || agg.Func == "max") && len(agg.Args) == 1 {
		kind = a.b.kindOf(agg.Args[0])
	}
	agg.Col = a.b.newCol(agg.Func, kind)
	switch agg.Func {
	case "min", "max", "collect":
		a.b.scalar[agg.Col] = !slices.ContainsFunc(agg.Args, a.b.mayHoldEntity)
	default:
		a.b.scalar[agg.Col] = true
	}
	a.like[k] = append(a.like[k], len(a.aggs))
	a.aggs, a.cols[agg.Col] = append(a.aggs, agg), true
	return a.b.ref(agg.Col)
}

// build puts the Aggregate on top of f. Columns without aggregates are its keys; the others become expressions over keys and
// aggregates.
func (a *aggregation) build(f *flow, cols []*column) {
	n := &plan.Aggregate{Input: f.node, Aggs: a.aggs}
	var keys []*column
	for _, c := range cols {
		if !c.agg {
			keys = append(keys, c)
			n.Keys = append(n.Keys, plan.Item{Col: c.col, Expr: c.expr})
		}
	}
	by := computedBy(keys)
	for _, c := range cols {
		if c.agg {
			c.expr = by.replace(c.expr)
		}
	}
	for _, k := range keys {
		k.expr = &plan.ColRef{Col: k.col}
	}
	f.node = n
	f.finish()
	if len(keys) == 0 {
		f.one = true
	}
}

// aggregate binds a call of an aggregating function.
func (b *expressions) aggregate(name string, distinct bool, args []ast.Expr, at ast.Node) plan.Expr {
	aggs := b.aggs
	if aggs == nil {
		b.fail(graph.SyntaxError("InvalidAggregation", at.Position(), "%s cannot stand here", name))
		return &plan.Const{}
	}
	item := b.fx
	b.aggs, b.fx = nil, aggs.fx
	agg := plan.Agg{Func: name, Distinct: distinct, Args: b.exprs(args)}
	b.aggs, b.fx = aggs, item
	return aggs.add(agg)
}
