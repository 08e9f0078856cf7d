package plan

// edgeExists is the rule EdgeExists, on the expressions of a node.
func edgeExists(_ *optimizer, n Node) Node {
	fired := false
	var visit func(*Expr)
	visit = func(p *Expr) {
		if s, ok := (*p).(*Subquery); ok && s.Kind == Exists {
			if e := oneEdge(s.Sub); e != nil {
				*p, fired = e, true
				return
			}
		}
		subexprs(*p, visit)
	}
	n.exprs(visit)
	if !fired {
		return nil
	}
	return n
}

// oneEdge recognises a subplan that tests for one edge between two vertices of its argument.
func oneEdge(n Node) *HasEdge {
	m, ok := n.(*Match)
	if !ok || m.Optional || len(m.Pattern.Edges) != 1 || len(m.Pattern.Preds) > 0 || len(m.Pattern.Paths) > 0 {
		return nil
	}
	arg, ok := m.Input.(*Argument)
	if !ok {
		return nil
	}
	for _, v := range m.Pattern.Vertices {
		if !v.Bound || v.Labels != nil {
			return nil
		}
	}
	e := m.Pattern.Edges[0]
	has := NewColSet()
	has.Add(arg.Cols...)
	if e.Bound || e.Length != nil || e.Shortest != "" || e.Walk != nil || len(e.Where) > 0 || !has.Has(e.Left) || !has.Has(e.Right) {
		return nil
	}
	return &HasEdge{From: &ColRef{Col: e.Left}, To: &ColRef{Col: e.Right}, Types: e.Types, Dir: e.Dir}
}
