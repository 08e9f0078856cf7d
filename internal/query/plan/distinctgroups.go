package plan

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
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
	n.inputs(func(c *Node) { *c = &Aggregate{Input: p.Input, Keys: p.Items} })
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
