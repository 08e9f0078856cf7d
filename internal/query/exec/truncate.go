package exec

import (
	"errors"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
)

// truncate reports whether an error is the end of a budget after which the rows so far are the answer, and notes it.
func (r *run) truncate(err error) bool {
	if !r.env.Partial || err == nil {
		return false
	}
	var e *graph.Error
	if !errors.As(err, &e) || e.Kind != graph.KindBudget {
		return false
	}
	if r.truncated == "" {
		r.truncated = e.Msg
	}
	return true
}

// affordable bounds a number of edges to ask for by what is left of the budget of visits, so that a traversal that may
// end early reads up to its end.
func (r *run) affordable(n int) int {
	if left := r.env.Budget.Edges - r.edges; r.env.Partial && r.env.Budget.Edges > 0 && left < int64(n) {
		return int(max(left, 1))
	}
	return n
}

// overtime fails when the time after which a traversal ends with what it has found has come.
func (r *run) overtime() error {
	if r.env.Until.IsZero() || time.Now().Before(r.env.Until) {
		return nil
	}
	return graph.BudgetError("the request ran out of time")
}

// Truncated gives the reason why the rows are not all, or "".
func (rs *Rows) Truncated() string { return rs.r.truncated }

// Hops gives what the hops of a traversal did.
func (rs *Rows) Hops() []HopCount { return rs.r.hopCounts }
