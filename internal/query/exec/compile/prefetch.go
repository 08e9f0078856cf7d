package compile

import (
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Prefetching finds the stage that looks up the vertices in a column of in, and marks it as prefetching for a hop that starts
// from them; nil if there is none. Projections that pass the column on may lie between.
func Prefetching(in *runtime.Stage, col plan.Col) *runtime.Stage {
	for {
		switch n := in.Node.(type) {
		case *plan.Project:
			if col = passedFrom(n, col); col == 0 {
				return nil
			}
			in = in.Inputs[0]
		case *plan.Seek:
			if n.Out != col || in.Pos(col) < 0 {
				return nil
			}
			in.Prefetches = true
			return in
		default:
			return nil
		}
	}
}

// PrefetchingHop is Prefetching for a hop that follows another one whose far ends are in the column.
func PrefetchingHop(in *runtime.Stage, col plan.Col) *runtime.Stage {
	n, ok := in.Node.(*plan.Expand)
	if !ok || n.Into || n.To != col {
		return nil
	}
	in.Prefetches = true
	return in
}

// passedFrom returns the column of a projection's input that it passes on as a column, or 0.
func passedFrom(n *plan.Project, col plan.Col) plan.Col {
	for _, it := range n.Items {
		if it.Col == col {
			if ref, ok := it.Expr.(*plan.ColRef); ok {
				return ref.Col
			}
			return 0
		}
	}
	if !n.Keep {
		return 0
	}
	return col
}
