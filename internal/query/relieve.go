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
	var largest *Running
	for _, q := range e.running.byID {
		if n := q.held.Bytes(); n >= max(least, 1) && (largest == nil || n > largest.held.Bytes()) && !q.relieved {
			largest = q
		}
	}
	if largest == nil {
		e.running.mu.Unlock()
		return l, false
	}
	largest.relieved = true
	e.running.mu.Unlock()
	l = Largest{
		Statement: largest.Statement, Graph: largest.Graph, Caller: largest.Caller,
		Operator: largest.held.Operator(), Bytes: largest.held.Bytes(),
	}
	largest.cancel(&graph.Error{
		Kind: graph.KindBudget, Code: "Neo.TransientError.General.OutOfMemoryError", Type: "BudgetError", Phase: graph.PhaseRuntime,
		Detail: "OutOfMemory", Msg: fmt.Sprintf("the server uses %d bytes of the %d of memory, and this statement, number %d, was the largest: operator %s, %d bytes",
			used, limit, largest.ID, l.Operator, l.Bytes),
	})
	e.metrics.Relieved.Add(1)
	return l, true
}
