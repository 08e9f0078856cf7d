package optimize

import "github.com/hopgate/hopgate/internal/query/plan"

// OrderWrites makes a subplan that runs for many outer rows at once apply its changes in the order of these rows, because the last
// change counts. If its rows may arrive in another order, it sorts them by their outer rows.
func OrderWrites(n plan.Node) {
	order := func(in *plan.Node) {
		if !keepsRows(*in) {
			*in = &plan.Sort{Input: *in}
		}
		OrderWrites(*in)
	}
	switch n := n.(type) {
	case *plan.Set:
		order(&n.Input)
	case *plan.Merge:
		order(&n.Input)
	case *plan.Foreach:
		order(&n.Input)
	case *plan.Apply:
		if writes(n.Sub) {
			order(&n.Input)
		} else {
			OrderWrites(n.Input)
		}
	default:
		plan.EachInput(n, func(c *plan.Node) { OrderWrites(*c) })
	}
}

// keepsRows reports whether the rows of a node arrive in the order of their outer rows.
func keepsRows(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.Argument, *plan.Sort:
		return true
	case *plan.Project, *plan.Filter, *plan.Unwind, *plan.Set, *plan.Create, *plan.Delete, *plan.Foreach, *plan.Eager:
		return keepsRows(plan.Children(n)[0])
	}
	return false
}
