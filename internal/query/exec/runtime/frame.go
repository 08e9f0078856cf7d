package runtime

import (
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Subplan is a compiled plan that runs over a frame.
type Subplan struct {
	Root *Stage
	// Args are the outer columns that the subplan reads.
	Args []plan.Col
	// Expr is the collected expression, over the columns of Root.
	Expr plan.Expr
	// Writes reports whether the subplan changes the graph. If so, its outer rows come one at a time unless the plan allows batches.
	Writes bool
}

// Frame holds the outer rows of a running subplan. The operator that runs the subplan sets In and From, then opens the
// subplan's operator.
type Frame struct {
	Sub *Subplan
	// In is a batch whose column at position from[i] is sub.args[i]. It does not change until the subplan has ended.
	In   *Batch
	From []int
	// Done, if not nil, marks the rows of In that need no more rows. Operators may ignore it.
	Done []bool
}

// Wants reports whether a row of the frame needs more rows. At the top level the frame is nil.
func (f *Frame) Wants(row int32) bool { return f == nil || f.Done == nil || !f.Done[row] }

// Rows is the number of outer rows.
func (f *Frame) Rows() int {
	if f == nil {
		return 1
	}
	return f.In.N
}

// BuildSub creates the operator of a subplan and the frame that it runs over. outer are the columns of the batches that the
// frame will hold.
func (r *Run) BuildSub(s *Subplan, outer []plan.Col) (*Frame, Operator) {
	f := &Frame{Sub: s, From: (&Stage{Cols: outer}).Positions(s.Args)}
	saved := r.Frame
	r.Frame = f
	op := r.Build(s.Root)
	r.Frame = saved
	return f, op
}
