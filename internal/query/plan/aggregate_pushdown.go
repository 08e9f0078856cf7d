package plan

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// pushDownAggregate is the rule AggregatePushdown, on aggregates directly above a MATCH. Leaves of the pattern that neither groups nor aggregates
// read, and what hangs on them, only make rows repeat:
//
//	Aggregation count(*) BY a    Aggregation count(*) TIMES n BY a
//	  Match (a)-->(b)-->(c)        PathMultiplicity (b)-->() AS n
//	                                 Match (a)-->(b)
func pushDownAggregate(o *optimizer, n Node) Node {
	a, ok := n.(*Aggregate)
	if !ok || a.Times != nil {
		return nil
	}
	m, ok := a.Input.(*Match)
	if !ok || m.Optional {
		return nil
	}
	never := func(e Expr) bool {
		ref, ok := e.(*ColRef)
		return ok && m.Pattern.binds(ref.Col)
	}
	if !a.repeats() || m.Pattern.oneBareEdge() && len(a.Keys) == 0 {
		return nil
	}
	f := &countPushdown{o: o, p: m.Pattern.clone(), branches: map[Col][]Branch{}, above: a.needs(never)}
	if !f.pushLeaves() || !f.pays(&m.Pattern) {
		return nil
	}
	c := *a
	c.Input = &Match{Input: m.Input, Pattern: *f.p}
	for _, v := range f.p.Vertices {
		if bs := f.branches[v.Col]; len(bs) > 0 {
			w := &PathMultiplicity{Input: c.Input, Multiplicity: Multiplicity{Col: v.Col, Branches: bs}, Out: o.q.NewCol("", graph.Null)}
			c.Input, c.Times = w, product(c.Times, &ColRef{Col: w.Out})
		}
	}
	c.Aggs = countRows(a.Aggs, never)
	return &c
}

func product(a, b Expr) Expr {
	if a == nil {
		return b
	}
	return &Op{Op: Mul, Args: []Expr{a, b}}
}

// countRows replaces aggregates that are equivalent to count(*) by it.
func countRows(aggs []Agg, never func(Expr) bool) []Agg {
	aggs = slices.Clone(aggs)
	for i := range aggs {
		if g := &aggs[i]; g.countsRows(never) {
			g.Args = nil
		}
	}
	return aggs
}

// pays reports whether matching the remaining pattern, multiplying and aggregating costs less than matching the whole pattern
// and aggregating its rows.
func (f *countPushdown) pays(whole *Pattern) bool {
	all, allRows := f.o.work(whole)
	cost, rows := f.o.work(f.p)
	for _, v := range f.p.Vertices {
		cost += edgeCost * f.o.multiplicityCost(min(rows, f.o.vertices(v.Labels)), v.Labels, f.branches[v.Col])
	}
	return cost+rows <= all+allRows
}

// work estimates the cost of matching a pattern, and its rows.
func (o *optimizer) work(p *Pattern) (cost, rows float64) {
	m, start := o.matcher(p)
	best, _ := m.search(start)
	return best.cost, best.card
}

// pushMultiplicity moves a PathMultiplicity down to where its vertex is bound, below expansions that multiply the rows.
func pushMultiplicity(n *Node, w *PathMultiplicity) {
	var last *Expand // that may stand above w
	for at := w.Input; at != nil; {
		switch x := at.(type) {
		case *Filter:
			at = x.Input
		case *PathMultiplicity:
			at = x.Input
		case *Intersect:
			if at = x.Input; x.To == w.Col {
				at = nil
			}
		case *Expand:
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
