package quota

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/access"
)

const (
	// LeaseTime is how long a process may use a batch after it asked for it, if its window lasts longer.
	LeaseTime = 10 * time.Second
	// GraceTime is how long requests run while the answer to the question for a batch is awaited.
	GraceTime = time.Second
	// deafTime is how long after its last answer a Source counts as one that does not answer.
	deafTime = 2 * time.Second
)

// meter is a quota with its accounts.
type meter struct {
	q       *Quota
	graph   string
	refused *atomic.Uint64 // requests that were refused, or would have been if the quota were enforced

	mu      sync.RWMutex
	shared  *account            // of all callers, unless Quota.Each
	each    map[uint64]*account // by the hash of the subject; others of the same hash follow by account.next
	count   int                 // of each
	sweepAt int                 // the count at which accounts of former windows are dropped
}

// account is what one caller, or all callers of a quota together, have taken in the present window.
type account struct {
	m       atomic.Pointer[meter] // the present one: a quota that changes keeps its accounts
	subject access.Subject        // zero unless the quota has an account for each caller
	next    *account

	mu     sync.Mutex
	window int64 // its number
	taken  int64 // by this process

	// With a Source:
	others   int64 // what other processes had used by the last answer
	granted  int64 // up to which taken may grow by that
	batch    int64 // by how much that was above taken when it was granted
	until    int64 // the instant at which the grant ends
	asked    int64 // the instant of the first wish since the last answer, of whichever window; 0: none
	answered int64 // the instant of the last answer; 0: none in this window
	told     int64 // taken as reported last
	denied   bool  // the last answer was that nothing is left
	queued   bool  // in Ledger.queue
	held     bool  // in Ledger.held
}

// verdict is what an account says to a request.
type verdict uint8

const (
	allowed verdict = iota
	over            // the amount is used up
	unknown         // what others have used is not known
)

// roll begins a new window if the one of the account is over. A clock that goes back a little does not begin the same window again. The caller
// holds a.mu.
func (a *account) roll(q *Quota, now int64) {
	if w := q.number(now); w > a.window || w < a.window-1 {
		a.window, a.taken, a.others, a.granted, a.batch, a.until, a.answered, a.told, a.denied = w, 0, 0, 0, 0, 0, 0, 0, false
	}
}

// enter asks whether a request may run, and counts it if the quota counts requests.
func (a *account) enter(l *Ledger, now int64) verdict {
	m := a.m.Load()
	q := m.q
	a.mu.Lock()
	a.roll(q, now)
	v := allowed
	if a.taken+a.others >= q.limit {
		v = over
	}
	if l.source != nil && (a.taken >= a.granted || now >= a.until) {
		if v == allowed {
			v = a.without(now)
		}
		if !a.denied || now-a.answered >= int64(GraceTime) { // others may have returned what they held
			l.wish(a, now)
		}
	}
	if q.Measure == Requests && (v == allowed || q.Mode == Measured) {
		a.taken++
		l.took(a, now)
	}
	a.mu.Unlock()
	if v == over || v == unknown && q.Mode == Enforced {
		m.refused.Add(1)
	}
	if q.Mode == Measured {
		return allowed
	}
	return v
}

// low reports whether it is time to ask for the next batch. The caller holds a.mu.
func (a *account) low() bool { return a.granted-a.taken <= a.batch/2 }

// without is the verdict of an account that holds no batch. The caller holds a.mu.
func (a *account) without(now int64) verdict {
	switch {
	case a.denied && now-a.answered < int64(deafTime):
		return over
	case !a.denied && (a.asked == 0 || now-a.asked <= int64(GraceTime)):
		return allowed
	}
	return unknown
}

// undo takes back the count of a request that enter has counted and another quota has refused.
func (a *account) undo() {
	if a.m.Load().q.Measure == Requests {
		a.mu.Lock()
		a.taken = max(a.taken-1, a.told)
		a.mu.Unlock()
	}
}

// charge counts what a request has taken.
func (a *account) charge(l *Ledger, now, n int64) {
	if n <= 0 {
		return
	}
	a.mu.Lock()
	a.roll(a.m.Load().q, now)
	a.taken += n
	l.took(a, now)
	a.mu.Unlock()
}

// state returns what an account has left, and how long its window still lasts.
func (a *account) state(now int64) (used, left int64, reset time.Duration) {
	q := a.m.Load().q
	a.mu.Lock()
	a.roll(q, now)
	used = a.taken + a.others
	a.mu.Unlock()
	return used, max(q.limit-used, 0), q.left(now)
}

// past reports whether the account is of a window before the last one.
func (a *account) past(q *Quota, now int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.window < q.number(now)-1 && !a.queued && !a.held
}
