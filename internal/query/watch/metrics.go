package watch

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/cost"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/trusted"
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
	Took Took
}

// Observe counts a request that has ended.
func (m *Metrics) Observe(kind Kind, d time.Duration, took *cost.Cost, err error) {
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
