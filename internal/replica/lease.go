package replica

import (
	"sync/atomic"
	"time"
)

// lease is a leader's claim that no other replica leads the group: a quorum has confirmed it and grants no votes to others within
// an election timeout.
type lease struct {
	held atomic.Pointer[leasedTerm] // nil means none
	// number and start identify the read in flight; number is 0 without one.
	number  uint64
	start   time.Duration
	tick    uint64
	without uint64 // the term in which the leader takes no lease
}

// leasedTerm is the term of a leader and the time on its clock up to which no other replica leads.
type leasedTerm struct {
	term  uint64
	until time.Duration
}

// leaseSpan is a lease's duration from the start of the read that confirms it: two ticks less than the shortest election timeout.
const leaseSpan = (ElectionTicks - 2) * TickInterval

// renew starts another read that confirms the lease with a quorum.
func (g *Group) renew() {
	l := &g.lease
	if l.without == g.term || l.number != 0 && g.ticks-l.tick < ElectionTicks {
		return
	}
	g.number++
	l.number, l.tick, l.start = g.number, g.ticks, g.o.Clock()
	g.node.ReadIndex(g.readContext(l.number))
}

// confirm handles the answer to a read in a term and reports whether the lease issued it.
func (l *lease) confirm(number, term uint64) bool {
	if l.number != number {
		return false
	}
	l.held.Store(&leasedTerm{term, l.start + leaseSpan})
	l.number = 0
	return true
}

// drop ends the lease and discards a renewal in flight.
func (l *lease) drop() {
	l.held.Store(nil)
	l.number = 0
}

// yield drops the lease for the rest of the term.
func (l *lease) yield(term uint64) {
	l.drop()
	l.without = term
}

// Leased returns the term in which this replica leads the group and holds the lease, so that no other replica leads it now, or 0.
// Safe for concurrent use.
func (g *Group) Leased() (term uint64) {
	if held := g.lease.held.Load(); held != nil && g.o.Clock() < held.until {
		return held.term
	}
	return 0
}
