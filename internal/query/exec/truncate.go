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

// affordable bounds a number of edges to ask for (0: all) by what is left of the budget of visits, if the run may end
// early.
func (r *run) affordable(n int) int {
	if !r.env.Partial || r.env.Budget.Edges == 0 {
		return n
	}
	left := int(max(r.env.Budget.Edges-r.edges, 1))
	if n == 0 {
		return left
	}
	return min(n, left)
}

// spent reports whether a budget has ended, or the time, after which a run finds no more edges.
func (r *run) spent() bool { return r.env.Partial && (r.truncated != "" || r.late()) }

// late reports whether the time has ended, after which a run does not go through the edges that it has found either.
func (r *run) late() bool {
	if !r.env.Partial || r.env.Until.IsZero() || time.Now().Before(r.env.Until) {
		return false
	}
	if r.truncated == "" {
		r.truncated = "the request ran out of time"
	}
	return true
}
