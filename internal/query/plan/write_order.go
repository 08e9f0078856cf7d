package plan

// OrderWrites makes a subplan that runs for many outer rows at once apply its changes in the order of these rows, because the last
// change counts. If its rows may arrive in another order, it sorts them by their outer rows.
func OrderWrites(n Node) {
	order := func(in *Node) {
		if !keepsRows(*in) {
			*in = &Sort{Input: *in}
		}
		OrderWrites(*in)
	}
	switch n := n.(type) {
	case *Set:
		order(&n.Input)
	case *Merge:
		order(&n.Input)
	case *Foreach:
		order(&n.Input)
	case *Apply:
		if writes(n.Sub) {
			order(&n.Input)
		} else {
			OrderWrites(n.Input)
		}
	default:
		n.inputs(func(c *Node) { OrderWrites(*c) })
	}
}

// keepsRows reports whether the rows of a node arrive in the order of their outer rows.
func keepsRows(n Node) bool {
	switch n := n.(type) {
	case *Argument, *Sort:
		return true
	case *Project, *Filter, *Unwind, *Set, *Create, *Delete, *Foreach, *Eager:
		return keepsRows(Children(n)[0])
	}
	return false
}
