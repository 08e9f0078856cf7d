package query

import (
	"fmt"

	"github.com/hopgate/hopgate/internal/graph"
)

// Largest is the request that was ended to get memory back.
type Largest struct {
	Statement, Graph, Caller string
	Operator                 string // that took memory last
	Bytes                    int64  // that its operators held
}

// Relieve ends the request whose operators hold the most bytes, if they are at least least; ok tells whether there was
// one. The process uses used bytes of the limit. The request fails with an error that says so.
func (e *Engine) Relieve(used, limit, least int64) (l Largest, ok bool) {
	e.running.mu.Lock()
	defer e.running.mu.Unlock()
	return e.endLargest(least, fmt.Sprintf("the server uses %d bytes of the %d of memory", used, limit))
}

// relievePool ends the largest requests until the others hold no more than all may together.
func (e *Engine) relievePool() {
	e.running.mu.Lock()
	defer e.running.mu.Unlock()
	held := e.pool.Held()
	over := held - e.pool.Limit
	for _, q := range e.running.byID {
		if q.relieved {
			over -= q.held.Bytes() // it will end
		}
	}
	for over > 0 {
		l, ok := e.endLargest(1, fmt.Sprintf("all statements hold %d bytes, of which they may hold %d together", held, e.pool.Limit))
		if !ok {
			return
		}
		over -= l.Bytes
	}
}

// endLargest ends the request that holds the most, at least least bytes, and says why. e.running.mu is held.
func (e *Engine) endLargest(least int64, why string) (l Largest, ok bool) {
	var largest *Running
	for _, q := range e.running.byID {
		if n := q.held.Bytes(); n >= max(least, 1) && (largest == nil || n > largest.held.Bytes()) && !q.relieved {
			largest = q
		}
	}
	if largest == nil {
		return l, false
	}
	largest.relieved = true
	l = Largest{
		Statement: largest.Statement, Graph: largest.Graph, Caller: largest.Caller,
		Operator: largest.held.Operator(), Bytes: largest.held.Bytes(),
	}
	largest.cancel(&graph.Error{
		Kind: graph.KindBudget, Code: "Neo.TransientError.General.OutOfMemoryError", Type: "BudgetError", Phase: graph.PhaseRuntime,
		Detail: "OutOfMemory", Msg: fmt.Sprintf("%s, and this statement, number %d, was the largest: operator %s, %d bytes",
			why, largest.ID, l.Operator, l.Bytes),
	})
	e.metrics.Relieved.Add(1)
	return l, true
}
