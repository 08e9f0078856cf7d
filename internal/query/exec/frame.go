package exec

import (
	"github.com/hopgate/hopgate/internal/query/plan"
)

// subplan is a compiled plan that runs over a frame.
type subplan struct {
	root *stage
	// args are the outer columns that the subplan reads.
	args []plan.Col
	// expr is what is collected, over the columns of root.
	expr plan.Expr
	// writes says that the subplan changes the graph, so that its outer rows come one at a time, unless the plan says that they
	// need not.
	writes bool
}

// frame is where a running subplan finds its outer rows. Whoever runs the subplan sets in and from, then opens the
// subplan's operator.
type frame struct {
	sub *subplan
	// in is a batch whose column at position from[i] is sub.args[i]. It does not change until the subplan has ended.
	in   *batch
	from []int
	// done, if not nil, says for each row of in that no more rows are wanted for it. Operators need not look.
	done []bool
}

// wants reports whether more rows of a row of the frame are wanted. At the top level the frame is nil.
func (f *frame) wants(row int32) bool { return f == nil || f.done == nil || !f.done[row] }

// rows is the number of outer rows.
func (f *frame) rows() int {
	if f == nil {
		return 1
	}
	return f.in.N
}

// buildSub makes the operator of a subplan and the frame to run it over. outer are the columns of the batches that the
// frame will hold.
func (r *run) buildSub(s *subplan, outer []plan.Col) (*frame, operator) {
	f := &frame{sub: s, from: (&stage{cols: outer}).positions(s.args)}
	saved := r.frame
	r.frame = f
	op := r.build(s.root)
	r.frame = saved
	return f, op
}
