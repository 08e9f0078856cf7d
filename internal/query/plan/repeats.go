package plan

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// fewer is the estimated number of rows for each distinct one from which on removing repeats pays.
const fewer = 2

// distinctBelow is the rule DistinctBelow. Below DISTINCT, and below aggregates that ignore repeats, it also removes repeats before an expansion, and before values are read for aggregates:
//
//	Distinct c                   Distinct c
//	  ExpandAll (b)-->(c)          ExpandAll (b)-->(c)
//	    ExpandAll (a)-->(b)          Distinct b
//	                                   ExpandAll (a)-->(b)
func distinctBelow(o *optimizer, n Node) Node {
	var in Node
	need := NewColSet()
	switch n := n.(type) {
	case *Distinct:
		in = n.Input
		need.Add(n.Cols...)
	case *Aggregate:
		if slices.ContainsFunc(n.Aggs, func(a Agg) bool { return !a.Distinct && a.Func != "min" && a.Func != "max" }) {
			return nil
		}
		in = n.Input
		need = n.reads()
		if n.computes() && o.repeats(in, need) {
			d := &Distinct{Input: in, Cols: need.sorted()}
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
	d := &Distinct{Input: x.Input, Cols: cols}
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
func aggregateBelow(o *optimizer, n Node) Node {
	a, ok := n.(*Aggregate)
	if !ok {
		return nil
	}
	never := func(e Expr) bool { return expanded(a.Input, e) }
	if !a.repeats() {
		return nil
	}
	way := &passed{}
	x, cols := o.narrow(a.Input, a.needs(never), way)
	if x == nil {
		return nil
	}
	a.Aggs = countRows(a.Aggs, never)
	rows := o.q.NewCol("", graph.Null)
	below := &Aggregate{Input: x.Input, Aggs: []Agg{{Col: rows, Func: "count"}}}
	for _, c := range cols {
		below.Keys = append(below.Keys, Item{Col: c, Expr: &ColRef{Col: c}})
	}
	x.Input = below
	for _, p := range way.projects {
		if !p.Keep {
			p.Items = append(p.Items, Item{Col: rows, Expr: &ColRef{Col: rows}})
		}
	}
	above := Expr(&ColRef{Col: rows})
	for _, c := range factors(a.Times) {
		if way.multiplicities.Has(c) {
			above = product(above, &ColRef{Col: c})
		} else {
			below.Times = product(below.Times, &ColRef{Col: c})
		}
	}
	a.Times = above
	return n
}

// factors returns the columns of a product in Aggregate.Times.
func factors(e Expr) []Col {
	return Reads(e).sorted()
}

// passed records the nodes on the way down a plan.
type passed struct {
	projects       []*Project
	multiplicities ColSet // columns of path multiplicities
}

// expanded reports whether an expression is a vertex or an edge bound by one of the expansions directly below n, which is never
// null.
func expanded(n Node, e Expr) bool {
	ref, ok := e.(*ColRef)
	for ok {
		switch x := n.(type) {
		case *Filter:
			n = x.Input
		case *Project:
			if !passes(x, ref.Col) {
				return false
			}
			n = x.Input
		case *PathMultiplicity:
			n = x.Input
		case *Expand:
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
func (o *optimizer) narrow(n Node, need ColSet, way *passed) (x *Expand, cols []Col) {
	way.multiplicities = NewColSet()
	for {
		switch at := n.(type) {
		case *Filter:
			if slices.ContainsFunc(at.Preds, volatile) {
				return nil, nil
			}
			need.readsAll(at.Preds)
			n = at.Input
		case *Project:
			below := NewColSet()
			for _, it := range at.Items {
				if volatile(it.Expr) {
					return nil, nil
				}
				if need.Has(it.Col) {
					below.reads(it.Expr)
					need.Remove(it.Col)
				}
			}
			for c := range need.All() {
				below.Add(c) // of Keep
			}
			way.projects = append(way.projects, at)
			need, n = below, at.Input
		case *PathMultiplicity:
			way.multiplicities.Add(at.Out)
			need.Add(at.Col)
			need.Remove(at.Out)
			n = at.Input
		case *Expand:
			need.readsAll(at.Where)
			if !at.Into {
				need.Remove(at.To)
			} else {
				need.Add(at.To)
			}
			need.Remove(at.Edge)
			need.Add(at.From)
			need.Add(at.DistinctFrom...)
			if o.repeats(at.Input, need) {
				return at, need.sorted()
			}
			n = at.Input
		default:
			return nil, nil
		}
	}
}

// repeats reports whether n is estimated to return each combination of cols several times.
func (o *optimizer) repeats(n Node, cols ColSet) bool {
	switch n.(type) {
	case *Expand, *VarExpand, *Intersect, *Filter, *PathMultiplicity:
	default:
		return false
	}
	e := o.estimate(n)
	rows, most := e.rows[n], float64(fewer)
	for c := range cols.All() {
		if o.q.Cols[c].Kind != graph.VertexKind {
			return false
		}
		most *= max(1, o.vertices(e.labels[c]))
	}
	return rows > most
}
