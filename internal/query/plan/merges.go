package plan

// Merges reports whether the plan has a MERGE or a writing procedure, which create what they do not find.
func (q *Query) Merges() bool {
	found := false
	var visit func(*Node)
	visit = func(n *Node) {
		switch n := (*n).(type) {
		case *Merge:
			found = true
		case *CallProc:
			found = found || n.Writes
		}
		(*n).inputs(visit)
	}
	visit(&q.Root)
	return found
}
