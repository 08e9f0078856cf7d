package optimize

import (
	"math"
	"slices"

	"github.com/hopgate/hopgate/internal/query/plan"
)

// frontierCount is the rule FrontierCount. It looks for a count of distinct vertices above a chain of expansions:
//
//	Aggregation count(DISTINCT c)         Aggregation count(*)
//	  ExpandAll (b)-->(c)                   Distinct c
//	    ExpandAll (a)-->(b)                   ExpandAll (b)-->(c)
//	      …                                     Distinct b
//	                                              ExpandAll (a)-->(b) …
//
// A filter on the edge of an expansion or on the vertex that it leads to becomes a condition of the hop.
func frontierCount(_ *optimizer, n plan.Node) plan.Node {
	a, ok := n.(*plan.Aggregate)
	if !ok || len(a.Keys) > 0 || a.Times != nil || len(a.Aggs) != 1 || a.Aggs[0].Func != "count" {
		return nil
	}
	agg, at := &a.Aggs[0], a.Input
	set := agg.Distinct // repeats below do not matter
	var end plan.Col
	if len(agg.Args) == 1 {
		ref, ok := agg.Args[0].(*plan.ColRef)
		if !ok {
			return nil
		}
		end = ref.Col
	}
	var hops []*plan.Expand // the last one first
	base := at              // the node below the last of hops, or below the filters of preds
	var preds []plan.Expr   // on the vertex end and the edge of the next expansion
	for {
		switch x := at.(type) {
		case *plan.Distinct:
			if len(x.Cols) != 1 || end != 0 && x.Cols[0] != end {
				return frontierOf(agg.Col, hops, base)
			}
			end, set, at = x.Cols[0], true, x.Input
			if len(preds) == 0 {
				base = at
			}
			continue
		case *plan.Project:
			// A projection that passes on the end does not change the set of ends.
			if end == 0 || !set || !passes(x, end) {
				return frontierOf(agg.Col, hops, base)
			}
			at = x.Input
			if len(preds) == 0 {
				base = at
			}
			continue
		case *plan.Filter:
			if end == 0 || !set || !onHop(x, end) {
				return frontierOf(agg.Col, hops, base)
			}
			preds, at = append(preds, x.Preds...), x.Input
			continue
		case *plan.Expand:
			if end == 0 || !set || x.To != end || x.Into || !plan.OfHop(x.Where, x.Edge, x.To) {
				return frontierOf(agg.Col, hops, base)
			}
			hop := *x
			hop.Where = append(slices.Clone(x.Where), preds...)
			hops, preds = append(hops, &hop), nil
			end, at, base = x.From, x.Input, x.Input
			continue
		case *plan.VarExpand:
			if end != 0 && set && x.To == end && len(hops) == 0 && len(preds) == 0 {
				return trailFrontier(agg.Col, x)
			}
		}
		return frontierOf(agg.Col, hops, base)
	}
}

// onHop reports whether a filter reads only the vertex end and the edge of the expansion right below.
func onHop(f *plan.Filter, end plan.Col) bool {
	if x, ok := f.Input.(*plan.Expand); ok && x.To == end {
		return plan.OfHop(f.Preds, x.Edge, end)
	}
	return plan.OfHop(f.Preds, 0, end)
}

// frontierOf creates the node if the hops require relationship uniqueness of all edges that may coincide, or of none.
func frontierOf(out plan.Col, chain []*plan.Expand, input plan.Node) plan.Node {
	if len(chain) == 0 {
		return nil
	}
	slices.Reverse(chain)
	n := &plan.FrontierCount{Input: input, From: chain[0].From, Out: out}
	free := false // two hops may use the same edge
	for i, x := range chain {
		inside := 0
		for _, before := range chain[:i] {
			switch {
			case before.Edge != 0 && slices.Contains(x.DistinctFrom, before.Edge):
				inside++
				n.Trail = true
			case shareType(before.Types, x.Types):
				free = true
			}
		}
		if inside < len(x.DistinctFrom) {
			return nil // the others are edges of the input's rows
		}
		n.Hops = append(n.Hops, plan.Hop{Types: x.Types, Dir: x.Dir, Labels: x.Labels, Edge: x.Edge, To: x.To, Where: x.Where})
	}
	if n.Trail && free {
		return nil
	}
	return n
}

// maxHops bounds the fixed lengths that become a sequence of sets.
const maxHops = 8

// trailFrontier creates the node for trails of one fixed length, or of any length up to a bound, if only their ends are read.
func trailFrontier(out plan.Col, x *plan.VarExpand) plan.Node {
	if x.Into || x.Edges != 0 || len(x.DistinctFrom) > 0 || !plan.OfHop(x.Where, x.EdgeVar, 0) {
		return nil
	}
	k, most := plan.Bound(x.Min, -1), plan.Bound(x.Max, -1)
	if x.Min == nil {
		k = 1
	}
	if x.Max == nil {
		most = math.MaxInt
	}
	last := plan.Hop{Types: x.Types, Dir: x.Dir, Labels: x.Labels, Edge: x.EdgeVar, Where: x.Where}
	if (k == 0 || k == 1) && most > 1 {
		return &plan.FrontierCount{Input: x.Input, From: x.From, Out: out, Hops: []plan.Hop{last}, Least: int(k), Most: int(most)}
	}
	if k < 1 || k > maxHops || most != k {
		return nil
	}
	n := &plan.FrontierCount{Input: x.Input, From: x.From, Out: out, Trail: k > 1}
	for range k - 1 {
		hop := last
		hop.Labels = nil
		n.Hops = append(n.Hops, hop)
	}
	n.Hops = append(n.Hops, last)
	return n
}

// shareType reports whether an edge can match both lists of types; an empty one matches all.
func shareType(a, b []string) bool {
	return len(a) == 0 || len(b) == 0 || slices.ContainsFunc(a, func(t string) bool { return slices.Contains(b, t) })
}

// passes reports whether a projection passes a column on unchanged.
func passes(p *plan.Project, c plan.Col) bool {
	if p.Keep {
		return true
	}
	for _, it := range p.Items {
		if ref, ok := it.Expr.(*plan.ColRef); ok && it.Col == c && ref.Col == c {
			return true
		}
	}
	return false
}
