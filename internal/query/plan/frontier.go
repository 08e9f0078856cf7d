package plan

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
	var hops []Hop
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
			if end == 0 || !set || x.To != end || x.Edge != 0 || x.Into || len(x.Unlike) > 0 || len(x.Where) > 0 {
				return frontierOf(agg.Col, end, hops, at)
			}
			hops = append([]Hop{{Types: x.Types, Dir: x.Dir, Labels: x.Labels}}, hops...)
			end, at = x.From, x.Input
			continue
		}
		return frontierOf(agg.Col, end, hops, at)
	}
}

func frontierOf(out, from Col, hops []Hop, input Node) Node {
	if len(hops) == 0 {
		return nil
	}
	return &FrontierCount{Input: input, From: from, Hops: hops, Out: out}
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
