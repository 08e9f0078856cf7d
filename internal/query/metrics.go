package query

import (
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/watch"
)

// Metrics returns the engine's counters.
func (e *Engine) Metrics() *watch.Metrics { return &e.metrics }

// Totals returns the work of the operators of all requests.
func (e *Engine) Totals() *exec.Totals { return &e.totals }

// Held returns the memory of the operators of all requests in bytes, and its limit.
func (e *Engine) Held() (bytes, limit int64) {
	if e.pool == nil {
		return 0, 0
	}
	return e.pool.Held(), e.pool.Limit
}

// Plans returns the number of cached plans.
func (e *Engine) Plans() int { return e.plans.len() + e.fetches.Len() }

// ActiveQueries returns the number of running statements.
func (e *Engine) ActiveQueries() int {
	e.running.mu.Lock()
	defer e.running.mu.Unlock()
	n := 0
	for q := range e.running.all() {
		if !q.idle {
			n++
		}
	}
	return n
}
