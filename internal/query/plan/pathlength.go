package plan

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// pathLength lets a search return the length of a path if projections read nothing else of it.
func pathLength(o *optimizer, n Node) Node {
	p, ok := n.(*Project)
	if !ok || p.Keep {
		return nil
	}
	s, ok := p.Input.(*ShortestPath)
	if !ok || s.Path == 0 || Reads(s.PathWhere...).Has(s.Path) {
		return nil
	}
	items := slices.Clone(p.Items)
	length := Col(0)
	for i := range items {
		if c, ok := items[i].Expr.(*Call); ok && c.Func == "length" && len(c.Args) == 1 {
			if ref, ok := c.Args[0].(*ColRef); ok && ref.Col == s.Path {
				if length == 0 {
					length = o.q.NewCol("length("+o.q.Cols[s.Path].Name+")", graph.Int)
				}
				items[i].Expr = &ColRef{Col: length}
			}
		}
		if Reads(items[i].Expr).Has(s.Path) {
			return nil
		}
	}
	if length == 0 {
		return nil
	}
	c := *s
	c.Path, c.Length = 0, length
	return &Project{Input: &c, Items: items}
}
