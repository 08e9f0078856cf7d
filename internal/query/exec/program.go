package exec

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// program is a compiled plan. Any number of runs use it at the same time; none changes it.
type program struct {
	query     *plan.Query
	batchSize int // rows that an operator aims at
	root      *stage
	stages    []*stage
	subs      map[*plan.Subquery]*subplan
	reusable  bool // the operators of a run can serve a later one
	hasEdge   hasEdgeEvaluator
	degrees   degreeCounter
	totals    atomic.Pointer[stageTotals]
}

// hasEdgeEvaluator makes the evaluator of a plan.HasEdge. It needs neighbour readers, which need evaluators themselves.
type hasEdgeEvaluator func(r *run, e *plan.HasEdge, from, to evaluator) evaluator

// degreeCounter makes the shortcut for a subplan that counts the edges of one vertex a row, or nil if it does not apply.
type degreeCounter func(r *run, f *frame, kind plan.ApplyKind) rowCounter

// rowCounter counts the rows that a subplan has for each row of a batch.
type rowCounter interface {
	// counts sets count for the rows of in.
	counts(ctx context.Context, in *batch, count []int64) error
}

// unbound is the error for a column that no input gives.
func (p *program) unbound(col plan.Col) error {
	if int(col) >= len(p.query.Cols) {
		return graph.InternalError("compile", fmt.Errorf("no input gives column %d, which the compiler made", col))
	}
	return graph.InternalError("compile", fmt.Errorf("no input gives column %d (%s)", col, p.query.Cols[col].Name))
}
