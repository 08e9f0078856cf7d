package plan

// Merges reports whether the plan has a MERGE, which makes what it does not find.
func (q *Query) Merges() bool {
	found := false
	var visit func(*Node)
	visit = func(n *Node) {
		if _, ok := (*n).(*Merge); ok {
			found = true
		}
		inputs(*n, visit)
	}
	visit(&q.Root)
	return found
}
