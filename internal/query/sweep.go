package query

import (
	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/query/admission"
)

// Sweep ends the requests whose callers have lost their tokens or their roles, however busy or idle the requests are, and takes the places of
// those whose clients do not read. The server calls it several times a second.
func (e *Engine) Sweep() { e.sweepAt(admission.Now()) }

// sweepAt is Sweep at an instant.
func (e *Engine) sweepAt(now int64) {
	e.running.mu.Lock()
	defer e.running.mu.Unlock()
	for q := e.running.first; q != nil; q = q.next {
		q.sweep(now)
		if q.runs != nil {
			q.runs.sweep(now)
		}
	}
}

func (q *Running) sweep(now int64) {
	need := access.Role(q.permitted.Load())
	if err := q.may(q.on(), need); err != nil {
		q.end(err)
		return
	}
	q.cpu.Evict(now)
}
