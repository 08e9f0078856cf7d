package query

import (
	"context"
	"math"
	"time"

	"github.com/hopgate/hopgate/internal/access"
)

// stallTime is how long a request that writes to its client keeps its place in the gate. A client that reads gets on within it.
const stallTime = time.Second

// evicted is the value of Running.sending of a request that has lost its place.
const evicted = math.MinInt64

// Sweep ends the requests whose callers have lost their tokens or their roles, however busy or idle the requests are, and takes the places of
// those whose clients do not read. The server calls it several times a second.
func (e *Engine) Sweep() {
	now := instant()
	e.running.mu.Lock()
	defer e.running.mu.Unlock()
	for q := e.running.first; q != nil; q = q.next {
		e.sweep(q, now)
		if q.runs != nil {
			e.sweep(q.runs, now)
		}
	}
}

func (e *Engine) sweep(q *Running, now int64) {
	need := access.Role(q.permitted.Load())
	if err := q.may(q.on(), need); err != nil {
		q.end(err)
		return
	}
	e.gate.evict(q, now)
}

// evict takes the place of a request that has written to its client for longer than stallTime.
func (g *gate) evict(q *Running, now int64) {
	since := q.sending.Load()
	if since == 0 || since == evicted || now-since < int64(stallTime) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if q.sending.CompareAndSwap(since, evicted) && q.admitted { // the request is still writing; afterwards it waits for g.mu
		g.stop(&q.place)
		q.admitted, q.lost = false, true
	}
}

// written says that the request does not write to its client any more. lost reports whether it has lost its place meanwhile.
func (q *Running) written() (lost bool) {
	if q.sending.Load() == 0 || q.sending.Swap(0) != evicted {
		return false
	}
	g := &q.cpu.e.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	lost, q.lost = q.lost, false
	return lost
}

// resume waits for a place after a write, if the request has lost its own.
func (q *Running) resume(ctx context.Context) error {
	if q.written() {
		return q.cpu.e.gate.enterAgain(ctx, q)
	}
	return nil
}
