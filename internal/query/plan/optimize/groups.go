package optimize

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// distinctGroups is the rule DistinctGroups. Below an operator that waits for all rows, repeats of properties that rows of an
// expansion have are removed by grouping, which reads and hashes the property of a vertex once, not for each row:
//
//	Aggregation count(*)               Aggregation count(*)
//	  Distinct x, y                      Aggregation BY a.name AS x, b.name AS y
//	    Projection a.name AS x, …          ExpandAll (a)-->(b)
//	      ExpandAll (a)-->(b)
func distinctGroups(o *optimizer, n plan.Node) plan.Node {
	switch n.(type) {
	case *plan.Aggregate, *plan.Sort:
	default:
		return nil
	}
	in := plan.Children(n)[0]
	d, ok := in.(*plan.Distinct)
	if !ok || d.Key != nil {
		return nil
	}
	p, ok := d.Input.(*plan.Project)
	if !ok || p.Keep || len(p.Items) != len(d.Cols) || !o.expands(p.Input) {
		return nil
	}
	for _, it := range p.Items {
		x, ok := it.Expr.(*plan.Prop)
		if !ok || !slices.Contains(d.Cols, it.Col) {
			return nil
		}
		if ref, ok := x.X.(*plan.ColRef); !ok || o.Query.Cols[ref.Col].Kind != graph.VertexKind {
			return nil
		}
	}
	plan.EachInput(n, func(c *plan.Node) {
		*c = &plan.Aggregate{Input: p.Input, Keys: p.Items}
		if o.off("EdgeGroups") {
			return
		}
		if m := edgeGroups(o, *c); m != nil {
			*c = m
			o.fired("EdgeGroups")
		}
	})
	return n
}

// expands reports whether the rows of a node come from an expansion, so that vertices repeat.
func (o *optimizer) expands(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.Filter:
		return o.expands(n.Input)
	case *plan.Expand, *plan.VarExpand, *plan.Intersect:
		return true
	}
	return false
}

// edgeGroups is the rule EdgeGroups.
func edgeGroups(o *optimizer, n plan.Node) plan.Node {
	a, ok := n.(*plan.Aggregate)
	if !ok || len(a.Keys) == 0 || a.Times != nil || o.Query.Writes || !o.env.Features.Has(shard.Aggregates) {
		return nil
	}
	x, ok := a.Input.(*plan.Expand)
	if !ok || x.Dir == graph.Both || x.Into || len(x.DistinctFrom) > 0 || len(x.Where) > 0 || len(x.Types) != 1 {
		return nil
	}
	scan, ok := x.Input.(*plan.Scan)
	if !ok || scan.Out != x.From {
		return nil
	}
	if _, ok := scan.Input.(*plan.Unit); !ok {
		return nil
	}
	if float64(o.Counts.ByType[x.Types[0]]) < o.Vertices(scan.Labels)+o.Vertices(x.Labels) {
		return nil
	}
	for i := range a.Aggs {
		g := &a.Aggs[i]
		if !g.CountsRows(func(e plan.Expr) bool {
			ref, ok := e.(*plan.ColRef)
			return ok && (ref.Col == x.From || ref.Col == x.To || ref.Col == x.Edge)
		}) {
			return nil
		}
	}
	g := &plan.EdgeGroups{Input: a, Type: x.Types[0], Dir: x.Dir, Places: map[plan.Col]plan.GroupKey{}}
	for _, k := range a.Keys {
		p, ok := k.Expr.(*plan.Prop)
		if !ok {
			return nil
		}
		ref, ok := p.X.(*plan.ColRef)
		if !ok || ref.Col != x.From && ref.Col != x.To {
			return nil
		}
		end := 0
		if ref.Col == x.To {
			end = 1
		}
		e := &g.Ends[end]
		g.Places[k.Col] = plan.GroupKey{End: end, At: len(e.Keys)}
		e.Keys = append(e.Keys, p.Key)
	}
	for i, l := range []*plan.LabelExpr{scan.Labels, x.Labels} {
		if l != nil && l.Op != plan.LabelName {
			return nil
		}
		if l != nil {
			g.Ends[i].Label = l.Name
		}
	}
	g.Same = g.Ends[0].Label == g.Ends[1].Label && slices.Equal(g.Ends[0].Keys, g.Ends[1].Keys)
	return g
}
