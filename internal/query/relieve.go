package query

import (
	"fmt"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
)

// Largest is the request that was ended to free memory.
type Largest struct {
	Statement, Graph, Caller string
	Operator                 string // that allocated last
	Bytes                    int64  // held by its operators
}

// Relieve ends the request whose operators hold the most memory, at least least bytes; ok reports whether there was one. The
// process uses used bytes of the limit. The request fails with an error that says so.
func (e *Engine) Relieve(used, limit, least int64) (l Largest, ok bool) {
	e.running.mu.Lock()
	defer e.running.mu.Unlock()
	return e.endLargest(least, nil, fmt.Sprintf("the server uses %d bytes of the %d of memory", used, limit))
}

// relievePool ends the largest requests of a pool until the others fit into it.
func (e *Engine) relievePool(p *memory.Pool) {
	e.running.mu.Lock()
	defer e.running.mu.Unlock()
	if p == e.pool && e.opt.Past != nil {
		e.opt.Past.Forget(int(p.Held() - p.Limit))
	}
	held := p.Held()
	over := held - p.Limit
	for q := range e.running.all() {
		if q.relieved && e.reports(q, p) {
			_, bytes := q.Held()
			over -= bytes // it will end
		}
	}
	all := "all statements"
	if p.Owner != "" {
		all += " of " + p.Owner
	}
	for over > 0 {
		l, ok := e.endLargest(1, p, fmt.Sprintf("%s hold %d bytes, of which they may hold %d together", all, held, p.Limit))
		if !ok {
			return
		}
		over -= l.Bytes
	}
}

// reports reports whether the memory of a request counts in a pool.
func (e *Engine) reports(q *Running, p *memory.Pool) bool {
	in := q.pools.Load()
	return p == e.pool || in != nil && slices.Contains(*in, p)
}

// endLargest ends the request that holds the most memory, at least least bytes, with the error why; if p is not nil, only requests
// that count towards p. The caller holds e.running.mu.
func (e *Engine) endLargest(least int64, p *memory.Pool, why string) (l Largest, ok bool) {
	var largest *Running
	for q := range e.running.all() {
		if _, n := q.Held(); n >= max(least, l.Bytes+1) && !q.relieved && (p == nil || e.reports(q, p)) {
			largest, l.Bytes = q, n
		}
	}
	if largest == nil {
		return l, false
	}
	largest.relieved = true
	l.Statement, l.Graph, l.Caller = largest.Statement, largest.Graph, largest.Caller.Name
	l.Operator, l.Bytes = largest.Held()
	largest.end(graph.OutOfMemory("%s, and this statement, number %d, was the largest: operator %s, %d bytes", why, largest.ID, l.Operator, l.Bytes))
	e.metrics.Relieved.Add(1)
	return l, true
}
