package optimize

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// pushDownAggregate is the rule AggregatePushdown, on aggregates directly above a MATCH. Leaves of the pattern that neither groups nor aggregates
// read, and what hangs on them, only make rows repeat:
//
//	Aggregation count(*) BY a    Aggregation count(*) TIMES n BY a
//	  Match (a)-->(b)-->(c)        PathMultiplicity (b)-->() AS n
//	                                 Match (a)-->(b)
func pushDownAggregate(o *optimizer, n plan.Node) plan.Node {
	a, ok := n.(*plan.Aggregate)
	if !ok || a.Times != nil {
		return nil
	}
	m, ok := a.Input.(*plan.Match)
	if !ok || m.Optional {
		return nil
	}
	never := func(e plan.Expr) bool {
		ref, ok := e.(*plan.ColRef)
		return ok && m.Pattern.Binds(ref.Col)
	}
	if accept, depend := a.Repeats(); !accept || !depend || m.Pattern.OneBareEdge() && len(a.Keys) == 0 {
		return nil
	}
	f := &countPushdown{o: o, p: m.Pattern.Clone(), branches: map[plan.Col][]plan.Branch{}, above: a.Needs(never)}
	if !f.pushLeaves() || !f.pays(&m.Pattern) {
		return nil
	}
	c := *a
	c.Input = &plan.Match{Input: m.Input, Pattern: *f.p}
	for _, v := range f.p.Vertices {
		if bs := f.branches[v.Col]; len(bs) > 0 {
			w := &plan.PathMultiplicity{Input: c.Input, Multiplicity: plan.Multiplicity{Col: v.Col, Branches: bs}, Out: o.Query.NewCol("", graph.Null)}
			c.Input, c.Times = w, product(c.Times, &plan.ColRef{Col: w.Out})
		}
	}
	c.Aggs = countRows(a.Aggs, never)
	return &c
}

func product(a, b plan.Expr) plan.Expr {
	if a == nil {
		return b
	}
	return &plan.Op{Op: plan.Mul, Args: []plan.Expr{a, b}}
}

// countRows replaces aggregates that are equivalent to count(*) by it.
func countRows(aggs []plan.Agg, never func(plan.Expr) bool) []plan.Agg {
	aggs = slices.Clone(aggs)
	for i := range aggs {
		if g := &aggs[i]; g.CountsRows(never) {
			g.Args = nil
		}
	}
	return aggs
}

// pays reports whether matching the remaining pattern, multiplying and aggregating costs less than matching the whole pattern
// and aggregating its rows.
func (f *countPushdown) pays(whole *plan.Pattern) bool {
	all, allRows := f.o.work(whole)
	cost, rows := f.o.work(f.p)
	for _, v := range f.p.Vertices {
		cost += plan.EdgeCost * f.o.multiplicityCost(min(rows, f.o.Vertices(v.Labels)), v.Labels, f.branches[v.Col])
	}
	return cost+rows <= all+allRows
}

// work estimates the cost of matching a pattern, and its rows.
func (o *optimizer) work(p *plan.Pattern) (cost, rows float64) {
	m, start := o.matcher(p)
	best, _ := m.search(start)
	return best.cost, best.card
}

// pushMultiplicity moves a PathMultiplicity down to where its vertex is bound, below expansions that multiply the rows.
func pushMultiplicity(n *plan.Node, w *plan.PathMultiplicity) {
	var last *plan.Expand // that may stand above w
	for at := w.Input; at != nil; {
		switch x := at.(type) {
		case *plan.Filter:
			at = x.Input
		case *plan.PathMultiplicity:
			at = x.Input
		case *plan.Intersect:
			if at = x.Input; x.To == w.Col {
				at = nil
			}
		case *plan.Expand:
			at = x.Input
			switch {
			case x.Into:
			case x.To == w.Col:
				at = nil
			default:
				last = x
			}
		default:
			at = nil
		}
	}
	if last != nil {
		*n = w.Input
		w.Input, last.Input = last.Input, w
	}
}
