package replica

import (
	"sync/atomic"
	"time"
)

// lease is a leader's claim that no other replica leads the group: a quorum has answered it since, and casts no votes for others within
// an election timeout.
type lease struct {
	until atomic.Int64 // by the group's clock; 0: none
	// number and start are of the read that is under way; number is 0 if there is none.
	number  uint64
	start   time.Duration
	tick    uint64
	without uint64 // the term in which there is none
}

// leaseSpan is how long a lease lasts from the start of the read that confirms it: two ticks less than any follower waits.
const leaseSpan = (ElectionTicks - 2) * TickInterval

// renew asks the quorum once more.
func (g *Group) renew() {
	l := &g.lease
	if l.without == g.term || l.number != 0 && g.ticks-l.tick < ElectionTicks {
		return
	}
	g.number++
	l.number, l.tick, l.start = g.number, g.ticks, g.o.Clock()
	g.node.ReadIndex(g.readContext(l.number))
}

// confirm takes the answer to a read; it reports whether the read was the lease's.
func (l *lease) confirm(number uint64) bool {
	if l.number != number {
		return false
	}
	l.until.Store(int64(l.start + leaseSpan))
	l.number = 0
	return true
}

// drop ends the lease, also one that is on its way.
func (l *lease) drop() {
	l.until.Store(0)
	l.number = 0
}

// give drops the lease for a whole term.
func (l *lease) give(term uint64) {
	l.drop()
	l.without = term
}

// Leased reports that no other replica leads the group at this moment. Any goroutine may ask.
func (g *Group) Leased() bool { return int64(g.o.Clock()) < g.lease.until.Load() }
