package plan

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// distinctGroups is the rule DistinctGroups. Below an operator that waits for all rows, repeats of properties that rows of an
// expansion have are removed by grouping, which reads and hashes the property of a vertex once, not for each row:
//
//	Aggregation count(*)               Aggregation count(*)
//	  Distinct x, y                      Aggregation BY a.name AS x, b.name AS y
//	    Projection a.name AS x, …          ExpandAll (a)-->(b)
//	      ExpandAll (a)-->(b)
func distinctGroups(o *optimizer, n Node) Node {
	switch n.(type) {
	case *Aggregate, *Sort:
	default:
		return nil
	}
	in := Children(n)[0]
	d, ok := in.(*Distinct)
	if !ok || d.Key != nil {
		return nil
	}
	p, ok := d.Input.(*Project)
	if !ok || p.Keep || len(p.Items) != len(d.Cols) || !o.expands(p.Input) {
		return nil
	}
	for _, it := range p.Items {
		x, ok := it.Expr.(*Prop)
		if !ok || !slices.Contains(d.Cols, it.Col) {
			return nil
		}
		if ref, ok := x.X.(*ColRef); !ok || o.q.Cols[ref.Col].Kind != graph.VertexKind {
			return nil
		}
	}
	n.inputs(func(c *Node) {
		*c = &Aggregate{Input: p.Input, Keys: p.Items}
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
func (o *optimizer) expands(n Node) bool {
	switch n := n.(type) {
	case *Filter:
		return o.expands(n.Input)
	case *Expand, *VarExpand, *Intersect:
		return true
	}
	return false
}

// edgeGroups is the rule EdgeGroups.
func edgeGroups(o *optimizer, n Node) Node {
	a, ok := n.(*Aggregate)
	if !ok || len(a.Keys) == 0 || a.Times != nil || o.q.Writes || !o.env.Features.Has(shard.PairCounts) {
		return nil
	}
	x, ok := a.Input.(*Expand)
	if !ok || x.Dir == graph.Both || x.Into || len(x.DistinctFrom) > 0 || len(x.Where) > 0 || len(x.Types) != 1 {
		return nil
	}
	scan, ok := x.Input.(*Scan)
	if !ok || scan.Out != x.From {
		return nil
	}
	if _, ok := scan.Input.(*Unit); !ok {
		return nil
	}
	if float64(o.counts.ByType[x.Types[0]]) < o.vertices(scan.Labels)+o.vertices(x.Labels) {
		return nil
	}
	for i := range a.Aggs {
		g := &a.Aggs[i]
		if !g.countsRows(func(e Expr) bool {
			ref, ok := e.(*ColRef)
			return ok && (ref.Col == x.From || ref.Col == x.To || ref.Col == x.Edge)
		}) {
			return nil
		}
	}
	g := &EdgeGroups{Input: a, Type: x.Types[0], Dir: x.Dir, at: map[Col]GroupKey{}}
	g.Ends[0].Col, g.Ends[1].Col = x.From, x.To
	for _, k := range a.Keys {
		p, ok := k.Expr.(*Prop)
		if !ok {
			return nil
		}
		ref, ok := p.X.(*ColRef)
		if !ok || ref.Col != x.From && ref.Col != x.To {
			return nil
		}
		end := 0
		if ref.Col == x.To {
			end = 1
		}
		e := &g.Ends[end]
		g.at[k.Col] = GroupKey{end, len(e.Keys)}
		e.Keys = append(e.Keys, p.Key)
	}
	labels := [2]*LabelExpr{scan.Labels, x.Labels}
	for i := range g.Ends {
		e := &g.Ends[i]
		if i > 0 && sameLabels(labels[0], labels[1]) && slices.Equal(g.Ends[0].Keys, e.Keys) {
			break
		}
		e.Scan = &Scan{Input: &Unit{}, Labels: labels[i], Out: e.Col}
	}
	return g
}

// sameLabels reports whether two conditions on labels are none, or one label, and the same.
func sameLabels(a, b *LabelExpr) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Op == LabelName && b.Op == LabelName && a.Name == b.Name
}
