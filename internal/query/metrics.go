package query

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/cost"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/trusted"
	"github.com/hopgate/hopgate/internal/query/watch"
)

// Metrics are the engine's counters since its start.
type Metrics struct {
	PlanHits, PlanMisses atomic.Uint64
	Rows                 atomic.Uint64
	// Ended counts the requests by graph.Kind of their error; OK those without one.
	OK    atomic.Uint64
	Ended [16]atomic.Uint64
	// Explicit transactions; those that have ended count the committed ones too.
	TxBegun, TxEnded, TxCommitted atomic.Uint64
	// Conflicts counts the transactions that failed to commit because of others, Retries the requests that ran again for that,
	// or because a process of a cluster failed with their snapshot.
	Conflicts, Retries atomic.Uint64
	// Relieved counts the requests that were ended to free memory.
	Relieved atomic.Uint64
	Latency  trusted.Latency
	// Took is what statements, traversals and fetches took.
	Took watch.Took
}

func (m *Metrics) observe(kind watch.Kind, d time.Duration, took *cost.Cost, err error) {
	m.Rows.Add(uint64(took.Rows))
	m.Took.Add(kind, took)
	if err == nil {
		m.OK.Add(1)
	} else {
		kind := graph.KindInternal
		if ge, ok := errors.AsType[*graph.Error](err); ok {
			kind = ge.Kind
		}
		m.Ended[kind].Add(1)
	}
	m.Latency.Observe(d)
}

// Metrics returns the engine's counters.
func (e *Engine) Metrics() *Metrics { return &e.metrics }

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
