package optimize

import "github.com/hopgate/hopgate/internal/query/plan"

// edgeExists is the rule EdgeExists, on the expressions of a node.
func edgeExists(_ *optimizer, n plan.Node) plan.Node {
	fired := false
	var visit func(*plan.Expr)
	visit = func(p *plan.Expr) {
		if s, ok := (*p).(*plan.Subquery); ok && s.Kind == plan.Exists {
			if e := oneEdge(s.Sub); e != nil {
				*p, fired = e, true
				return
			}
		}
		plan.Subexprs(*p, visit)
	}
	plan.EachExpr(n, visit)
	if !fired {
		return nil
	}
	return n
}

// oneEdge recognises a subplan that tests for one edge between two vertices of its argument.
func oneEdge(n plan.Node) *plan.HasEdge {
	m, ok := n.(*plan.Match)
	if !ok || m.Optional || len(m.Pattern.Edges) != 1 || len(m.Pattern.Preds) > 0 || len(m.Pattern.Paths) > 0 {
		return nil
	}
	arg, ok := m.Input.(*plan.Argument)
	if !ok {
		return nil
	}
	for _, v := range m.Pattern.Vertices {
		if !v.Bound || v.Labels != nil {
			return nil
		}
	}
	e := m.Pattern.Edges[0]
	has := plan.NewColSet()
	has.Add(arg.Cols...)
	if e.Bound || e.Length != nil || e.Shortest != "" || e.Walk != nil || len(e.Where) > 0 || !has.Has(e.Left) || !has.Has(e.Right) {
		return nil
	}
	return &plan.HasEdge{From: &plan.ColRef{Col: e.Left}, To: &plan.ColRef{Col: e.Right}, Types: e.Types, Dir: e.Dir}
}
