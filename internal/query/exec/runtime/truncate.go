package runtime

import (
	"errors"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
)

// Truncate reports whether an error is the end of a budget after which the rows so far are the result, and records the reason.
func (r *Run) Truncate(err error) bool {
	if !r.Env.Partial || err == nil {
		return false
	}
	var e *graph.Error
	if !errors.As(err, &e) || e.Kind != graph.KindBudget {
		return false
	}
	if r.Truncated == "" {
		r.Truncated = e.Msg
	}
	return true
}

// Affordable limits a number of edges to request (0: all) to the rest of the budget of visits, if the run may end early.
func (r *Run) Affordable(n int) int {
	if !r.Env.Partial || r.Env.Budget.Edges == 0 {
		return n
	}
	left := int(max(r.Env.Budget.Edges-r.Edges, 1))
	if n == 0 {
		return left
	}
	return min(n, left)
}

// Exhausted reports whether a budget or the time is exhausted, so the run reads no more edges.
func (r *Run) Exhausted() bool { return r.Env.Partial && (r.Truncated != "" || r.Expired()) }

// Expired reports whether the time is over, so the run does not process the edges that it has read either.
func (r *Run) Expired() bool {
	if !r.Env.Partial || r.Env.Until.IsZero() || time.Now().Before(r.Env.Until) {
		return false
	}
	if r.Truncated == "" {
		r.Truncated = "the request ran out of time"
	}
	return true
}
