package plan

import "strings"

// Administers reports whether a plan reads only the server and the schema, not data: it computes with the results of administrative
// procedures.
func (q *Query) Administers() bool {
	calls, other := false, false
	var walk func(n Node)
	walk = func(n Node) {
		switch n := n.(type) {
		case *Unit, *Argument, *Filter, *Project, *Aggregate, *Distinct, *Sort, *Slice, *Unwind, *Union, *Apply:
		case *CallProc:
			calls = true
			space, _, _ := strings.Cut(n.Proc, ".")
			other = other || space != "show" && space != "dbms" && space != "db" && space != "tx"
		default:
			other = true
		}
		n.inputs(func(in *Node) { walk(*in) })
	}
	walk(q.Root)
	return calls && !other
}

// Merges reports whether the plan has a MERGE or a writing procedure, which creates whatever it does not find.
func (q *Query) Merges() bool {
	found := false
	var visit func(*Node)
	visit = func(n *Node) {
		switch n := (*n).(type) {
		case *Merge:
			found = true
		case *CallProc:
			found = found || n.Writes && q.Calls // one that runs no statement changes no data
		}
		(*n).inputs(visit)
	}
	visit(&q.Root)
	return found
}
