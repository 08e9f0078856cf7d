package optimize

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// fewer is the estimated number of rows for each distinct one from which on removing repeats pays.
const fewer = 2

// distinctBelow is the rule DistinctBelow. Below DISTINCT, and below aggregates that ignore repeats, it also removes repeats before an expansion, and before values are read for aggregates:
//
//	Distinct c                   Distinct c
//	  ExpandAll (b)-->(c)          ExpandAll (b)-->(c)
//	    ExpandAll (a)-->(b)          Distinct b
//	                                   ExpandAll (a)-->(b)
func distinctBelow(o *optimizer, n plan.Node) plan.Node {
	var in plan.Node
	need := plan.NewColSet()
	switch n := n.(type) {
	case *plan.Distinct:
		in = n.Input
		need.Add(n.Cols...)
	case *plan.Aggregate:
		if slices.ContainsFunc(n.Aggs, func(a plan.Agg) bool { return !a.Distinct && a.Func != "min" && a.Func != "max" }) {
			return nil
		}
		in = n.Input
		need = n.Reads()
		if n.Computes() && o.repeats(in, need) {
			d := &plan.Distinct{Input: in, Cols: need.Sorted()}
			n.Input = d
			distinctBelow(o, d)
			return n
		}
	default:
		return nil
	}
	x, cols := o.narrow(in, need, &passed{})
	if x == nil {
		return nil
	}
	d := &plan.Distinct{Input: x.Input, Cols: cols}
	x.Input = d
	distinctBelow(o, d)
	return n
}

// aggregateBelow is the rule AggregateBelow. It counts the rows of each group before an expansion; above, each row counts as
// often (Yan and Larson 1995):
//
//	Aggregation sum(c.x) BY c    Aggregation sum(c.x) TIMES n BY c
//	  ExpandAll (b)-->(c)          ExpandAll (b)-->(c)
//	    ExpandAll (a)-->(b)          Aggregation count(*) AS n BY b
//	                                   ExpandAll (a)-->(b)
func aggregateBelow(o *optimizer, n plan.Node) plan.Node {
	a, ok := n.(*plan.Aggregate)
	if !ok {
		return nil
	}
	never := func(e plan.Expr) bool { return expanded(a.Input, e) }
	if accept, depend := a.Repeats(); !accept || !depend {
		return nil
	}
	way := &passed{}
	x, cols := o.narrow(a.Input, a.Needs(never), way)
	if x == nil {
		return nil
	}
	a.Aggs = countRows(a.Aggs, never)
	rows := o.Query.NewCol("", graph.Null)
	below := &plan.Aggregate{Input: x.Input, Aggs: []plan.Agg{{Col: rows, Func: "count"}}}
	for _, c := range cols {
		below.Keys = append(below.Keys, plan.Item{Col: c, Expr: &plan.ColRef{Col: c}})
	}
	x.Input = below
	for _, p := range way.projects {
		if !p.Keep {
			p.Items = append(p.Items, plan.Item{Col: rows, Expr: &plan.ColRef{Col: rows}})
		}
	}
	above := plan.Expr(&plan.ColRef{Col: rows})
	for _, c := range factors(a.Times) {
		if way.multiplicities.Has(c) {
			above = product(above, &plan.ColRef{Col: c})
		} else {
			below.Times = product(below.Times, &plan.ColRef{Col: c})
		}
	}
	a.Times = above
	return n
}

// factors returns the columns of a product in Aggregate.Times.
func factors(e plan.Expr) []plan.Col {
	return plan.Reads(e).Sorted()
}

// passed records the nodes on the way down a plan.
type passed struct {
	projects       []*plan.Project
	multiplicities plan.ColSet // columns of path multiplicities
}

// expanded reports whether an expression is a vertex or an edge bound by one of the expansions directly below n, which is never
// null.
func expanded(n plan.Node, e plan.Expr) bool {
	ref, ok := e.(*plan.ColRef)
	for ok {
		switch x := n.(type) {
		case *plan.Filter:
			n = x.Input
		case *plan.Project:
			if !passes(x, ref.Col) {
				return false
			}
			n = x.Input
		case *plan.PathMultiplicity:
			n = x.Input
		case *plan.Expand:
			if ref.Col == x.To || ref.Col == x.From || ref.Col == x.Edge {
				return true
			}
			n = x.Input
		default:
			return false
		}
	}
	return false
}

// narrow descends from a node that reads need to the first expansion whose input has several rows for each combination of cols, the
// columns that are read above it, all of them vertices. Only filters, expansions, path multiplicities and projections stand between,
// and way records them.
func (o *optimizer) narrow(n plan.Node, need plan.ColSet, way *passed) (x *plan.Expand, cols []plan.Col) {
	way.multiplicities = plan.NewColSet()
	for {
		switch at := n.(type) {
		case *plan.Filter:
			if slices.ContainsFunc(at.Preds, plan.Volatile) {
				return nil, nil
			}
			need.ReadsAll(at.Preds)
			n = at.Input
		case *plan.Project:
			below := plan.NewColSet()
			for _, it := range at.Items {
				if plan.Volatile(it.Expr) {
					return nil, nil
				}
				if need.Has(it.Col) {
					below.Reads(it.Expr)
					need.Remove(it.Col)
				}
			}
			for c := range need.All() {
				below.Add(c) // of Keep
			}
			way.projects = append(way.projects, at)
			need, n = below, at.Input
		case *plan.PathMultiplicity:
			way.multiplicities.Add(at.Out)
			need.Add(at.Col)
			need.Remove(at.Out)
			n = at.Input
		case *plan.Expand:
			need.ReadsAll(at.Where)
			if !at.Into {
				need.Remove(at.To)
			} else {
				need.Add(at.To)
			}
			need.Remove(at.Edge)
			need.Add(at.From)
			need.Add(at.DistinctFrom...)
			if o.repeats(at.Input, need) {
				return at, need.Sorted()
			}
			n = at.Input
		default:
			return nil, nil
		}
	}
}

// repeats reports whether n is estimated to return each combination of cols several times.
func (o *optimizer) repeats(n plan.Node, cols plan.ColSet) bool {
	switch n.(type) {
	case *plan.Expand, *plan.VarExpand, *plan.Intersect, *plan.Filter, *plan.PathMultiplicity:
	default:
		return false
	}
	e := o.Estimate(n)
	rows, most := e.Rows[n], float64(fewer)
	for c := range cols.All() {
		if o.Query.Cols[c].Kind != graph.VertexKind {
			return false
		}
		most *= max(1, o.Vertices(e.Labels[c]))
	}
	return rows > most
}
