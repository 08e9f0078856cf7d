package runtime

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Program is a compiled plan. Any number of runs use it at the same time; none changes it.
type Program struct {
	Query     *plan.Query
	BatchSize int // rows that an operator aims at
	Root      *Stage
	Stages    []*Stage
	Subplans  map[*plan.Subquery]*Subplan
	Reusable  bool // the operators of a run can serve a later one
	HasEdge   hasEdgeEvaluator
	Degrees   degreeCounter
	totals    atomic.Pointer[stageTotals]
}

// hasEdgeEvaluator makes the evaluator of a plan.HasEdge. It needs neighbour readers, which need evaluators themselves.
type hasEdgeEvaluator func(r *Run, e *plan.HasEdge, from, to Evaluator) Evaluator

// degreeCounter makes the shortcut for a subplan that counts the edges of one vertex a row, or nil if it does not apply.
type degreeCounter func(r *Run, f *Frame, kind plan.ApplyKind) RowCounter

// RowCounter counts the rows that a subplan has for each row of a batch.
type RowCounter interface {
	// Counts sets count for the rows of in.
	Counts(ctx context.Context, in *Batch, count []int64) error
}

// Unbound is the error for a column that no input gives.
func (p *Program) Unbound(col plan.Col) error {
	if int(col) >= len(p.Query.Cols) {
		return graph.InternalError("compile", fmt.Errorf("no input gives column %d, which the compiler made", col))
	}
	return graph.InternalError("compile", fmt.Errorf("no input gives column %d (%s)", col, p.Query.Cols[col].Name))
}
