package runtime

import (
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Subplan is a compiled plan that runs over a frame.
type Subplan struct {
	Root *Stage
	// Args are the outer columns that the subplan reads.
	Args []plan.Col
	// Expr is what is collected, over the columns of root.
	Expr plan.Expr
	// Writes says that the subplan changes the graph, so that its outer rows come one at a time, unless the plan says that they
	// need not.
	Writes bool
}

// Frame is where a running subplan finds its outer rows. The operator that runs the subplan sets In and From, then opens the
// subplan's operator.
type Frame struct {
	Sub *Subplan
	// In is a batch whose column at position from[i] is sub.args[i]. It does not change until the subplan has ended.
	In   *Batch
	From []int
	// Done, if not nil, says for each row of in that no more rows are wanted for it. Operators need not look.
	Done []bool
}

// Wants reports whether more rows of a row of the frame are wanted. At the top level the frame is nil.
func (f *Frame) Wants(row int32) bool { return f == nil || f.Done == nil || !f.Done[row] }

// Rows is the number of outer rows.
func (f *Frame) Rows() int {
	if f == nil {
		return 1
	}
	return f.In.N
}

// BuildSub makes the operator of a subplan and the frame to run it over. outer are the columns of the batches that the
// frame will hold.
func (r *Run) BuildSub(s *Subplan, outer []plan.Col) (*Frame, Operator) {
	f := &Frame{Sub: s, From: (&Stage{Cols: outer}).Positions(s.Args)}
	saved := r.Frame
	r.Frame = f
	op := r.Build(s.Root)
	r.Frame = saved
	return f, op
}
