package plan

import "strings"

// Administers reports whether a plan only reads the server and the schema, not data: it computes with the results of procedures
// of such kinds.
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
