package query

import (
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/cost"
)

// spent is what few requests take. Their own goroutine creates it.
type spent struct {
	queue   int64        // nanoseconds in the queue
	helpers atomic.Int64 // nanoseconds of goroutines that computed for the request beside its own
}

// spend returns the request's spent.
func (q *Running) spend() *spent {
	if q.spent == nil {
		q.spent = new(spent)
	}
	return q.spent
}

// waited adds the time from an instant until now in the queue.
func (q *Running) waited(since int64) { q.spend().queue += instant() - since }

// cost returns what the request has taken by now. It is complete once the request computes no more.
func (q *Running) cost(now time.Time) cost.Cost {
	c := cost.Cost{Visits: q.visits.Load(), Rows: q.rows.Load(), Bytes: q.sent, CPU: time.Duration(q.cpu.computed(int64(now.Sub(epoch))))}
	if s := q.spent; s != nil {
		c.Queue = time.Duration(s.queue)
		c.CPU += time.Duration(s.helpers.Load())
	}
	return c
}

// Cost returns what the request has taken so far, beside what was estimated.
func (r *Result) Cost() cost.Told {
	return cost.Told{Cost: r.q.cost(time.Now()), Estimate: -1}
}

// Sent says that the caller of Next sends so many bytes of the result.
func (r *Result) Sent(bytes int) { r.q.sent += int64(bytes) }
