package runtime

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Program is a compiled plan. It is immutable and serves any number of concurrent runs.
type Program struct {
	Query     *plan.Query
	BatchSize int // rows in a batch that an operator aims at
	Root      *Stage
	Stages    []*Stage
	Subplans  map[*plan.Subquery]*Subplan
	Reusable  bool // a later run may reuse the operators
	HasEdge   hasEdgeEvaluator
	Degrees   degreeCounter
	totals    atomic.Pointer[stageTotals]
}

// hasEdgeEvaluator creates the evaluator of a plan.HasEdge. It breaks an import cycle: the evaluator needs neighbour readers,
// which need evaluators.
type hasEdgeEvaluator func(r *Run, e *plan.HasEdge, from, to Evaluator) Evaluator

// degreeCounter creates the shortcut for a subplan that counts the edges of one vertex for each row, or nil if it does not
// apply.
type degreeCounter func(r *Run, f *Frame, kind plan.ApplyKind) RowCounter

// RowCounter counts the rows of a subplan for each row of a batch.
type RowCounter interface {
	// Counts sets count for the rows of in.
	Counts(ctx context.Context, in *Batch, count []int64) error
}

// Unbound is the error for a column that no input provides.
func (p *Program) Unbound(col plan.Col) error {
	if int(col) >= len(p.Query.Cols) {
		return graph.InternalError("compile", fmt.Errorf("no input gives column %d, which the compiler made", col))
	}
	return graph.InternalError("compile", fmt.Errorf("no input gives column %d (%s)", col, p.Query.Cols[col].Name))
}
