package optimize

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// pathLength lets a search return the length of a path if projections read nothing else of it.
func pathLength(o *optimizer, n plan.Node) plan.Node {
	p, ok := n.(*plan.Project)
	if !ok || p.Keep {
		return nil
	}
	s, ok := p.Input.(*plan.ShortestPath)
	if !ok || s.Path == 0 || plan.Reads(s.PathWhere...).Has(s.Path) {
		return nil
	}
	items := slices.Clone(p.Items)
	length := plan.Col(0)
	for i := range items {
		if c, ok := items[i].Expr.(*plan.Call); ok && c.Func == "length" && len(c.Args) == 1 {
			if ref, ok := c.Args[0].(*plan.ColRef); ok && ref.Col == s.Path {
				if length == 0 {
					length = o.Query.NewCol("length("+o.Query.Cols[s.Path].Name+")", graph.Int)
				}
				items[i].Expr = &plan.ColRef{Col: length}
			}
		}
		if plan.Reads(items[i].Expr).Has(s.Path) {
			return nil
		}
	}
	if length == 0 {
		return nil
	}
	c := *s
	c.Path, c.Length = 0, length
	return &plan.Project{Input: &c, Items: items}
}
