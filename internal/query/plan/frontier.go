package plan

import (
	"math"
	"slices"
)

// frontierCount is the rule FrontierCount. It looks for a count of distinct vertices above a chain of expansions:
//
//	Aggregation count(DISTINCT c)         Aggregation count(*)
//	  ExpandAll (b)-->(c)                   Distinct c
//	    ExpandAll (a)-->(b)                   ExpandAll (b)-->(c)
//	      …                                     Distinct b
//	                                              ExpandAll (a)-->(b) …
func frontierCount(_ *optimizer, n Node) Node {
	a, ok := n.(*Aggregate)
	if !ok || len(a.Keys) > 0 || len(a.Aggs) != 1 || a.Aggs[0].Func != "count" {
		return nil
	}
	agg, at := &a.Aggs[0], a.Input
	set := agg.Distinct // repeats below are of no account
	var end Col
	if len(agg.Args) == 1 {
		ref, ok := agg.Args[0].(*ColRef)
		if !ok {
			return nil
		}
		end = ref.Col
	}
	var hops []*Expand // from the last one
	for {
		switch x := at.(type) {
		case *Distinct:
			if len(x.Cols) != 1 || end != 0 && x.Cols[0] != end {
				return frontierOf(agg.Col, end, hops, at)
			}
			end, set, at = x.Cols[0], true, x.Input
			continue
		case *Project:
			// A projection that passes the end on makes no difference to a set of ends.
			if end == 0 || !set || !passes(x, end) {
				return frontierOf(agg.Col, end, hops, at)
			}
			at = x.Input
			continue
		case *Expand:
			if end == 0 || !set || x.To != end || x.Into || len(x.Where) > 0 {
				return frontierOf(agg.Col, end, hops, at)
			}
			hops = append(hops, x)
			end, at = x.From, x.Input
			continue
		case *VarExpand:
			if end != 0 && set && x.To == end && len(hops) == 0 {
				return trailFrontier(agg.Col, x)
			}
		}
		return frontierOf(agg.Col, end, hops, at)
	}
}

// frontierOf makes the node, if the hops ask for one thing: that all edges that may be the same are not, or nothing.
func frontierOf(out, from Col, chain []*Expand, input Node) Node {
	if len(chain) == 0 {
		return nil
	}
	slices.Reverse(chain)
	n := &FrontierCount{Input: input, From: from, Out: out}
	free := false // two hops may go along one edge
	for i, x := range chain {
		inside := 0
		for _, before := range chain[:i] {
			switch {
			case before.Edge != 0 && slices.Contains(x.Unlike, before.Edge):
				inside++
				n.Trail = true
			case shareType(before.Types, x.Types):
				free = true
			}
		}
		if inside < len(x.Unlike) {
			return nil // the others are edges of the input's rows
		}
		n.Hops = append(n.Hops, Hop{Types: x.Types, Dir: x.Dir, Labels: x.Labels})
	}
	if n.Trail && free {
		return nil
	}
	return n
}

// maxHops bounds the fixed lengths that are walked set by set.
const maxHops = 8

// trailFrontier makes the node for trails of one fixed length, or of any up to one, that nothing else is asked of.
func trailFrontier(out Col, x *VarExpand) Node {
	if x.Into || x.Edges != 0 || len(x.Unlike) > 0 || len(x.Where) > 0 {
		return nil
	}
	k, most := bound(x.Min, -1), bound(x.Max, -1)
	if x.Min == nil {
		k = 1
	}
	if x.Max == nil {
		most = math.MaxInt
	}
	if (k == 0 || k == 1) && most > 1 {
		return &FrontierCount{
			Input: x.Input, From: x.From, Out: out, Hops: []Hop{{Types: x.Types, Dir: x.Dir, Labels: x.Labels}}, Least: int(k), Most: int(most),
		}
	}
	if k < 1 || k > maxHops || most != k {
		return nil
	}
	n := &FrontierCount{Input: x.Input, From: x.From, Out: out, Trail: k > 1}
	for range k - 1 {
		n.Hops = append(n.Hops, Hop{Types: x.Types, Dir: x.Dir})
	}
	n.Hops = append(n.Hops, Hop{Types: x.Types, Dir: x.Dir, Labels: x.Labels})
	return n
}

// shareType reports whether an edge can have a type of both lists, an empty one being all types.
func shareType(a, b []string) bool {
	return len(a) == 0 || len(b) == 0 || slices.ContainsFunc(a, func(t string) bool { return slices.Contains(b, t) })
}

// passes reports whether a projection gives a column as it is.
func passes(p *Project, c Col) bool {
	if p.Keep {
		return true
	}
	for _, it := range p.Items {
		if ref, ok := it.Expr.(*ColRef); ok && it.Col == c && ref.Col == c {
			return true
		}
	}
	return false
}
