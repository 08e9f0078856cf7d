package quota

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/hopgate/hopgate/internal/access"
)

// WarmTime is for how long a new Lender lends small batches, since it does not know yet what processes have used.
const WarmTime = 2 * time.Second

// Source shares the accounts of several processes: a Lender, or a connection to one.
type Source interface {
	// Share reports what a process has used and returns what it may use. It may be repeated.
	Share(ctx context.Context, r *Report) (*Answer, error)
}

// Report is what a process says of its accounts.
type Report struct {
	Process uint64
	Entries []Entry
	List    string // a graph whose accounts are asked for, or ""
}

// Entry is an account of a report. Amounts are those of the quota's limit: nanoseconds of CPU.
type Entry struct {
	Graph, Quota string
	Shape        uint64
	Subject      access.Subject
	Window       int64 // its number
	Used         int64 // by the process in the window
	Granted      int64 // up to which it may use, as the process knows
	Wants        bool  // another batch; otherwise the process returns what it has
}

// Answer is the answer to a report.
type Answer struct {
	Lender uint64      // another one has no memory of this one's accounts
	Now    int64       // its clock, in nanoseconds since 1970
	Grants []Grant     // those of Report.Entries, in their order
	Uses   []SharedUse // of Report.List, the greatest first
}

// Grant is what a process may use of an account.
type Grant struct {
	Window  int64 // the present one
	Granted int64 // up to which the process may use in it; no more than it has used: nothing is left
	Others  int64 // what other processes have used
}

// SharedUse is what all processes together have used of an account.
type SharedUse struct {
	Quota   string
	Shape   uint64
	Subject access.Subject
	Used    int64
}

// Lender lends the amounts of windows to processes. It is safe for concurrent use.
type Lender struct {
	id    uint64
	clock func() time.Time
	start int64

	mu       sync.Mutex
	accounts map[lentKey]*lent
	sweepAt  int
}

// mostShared bounds the uses of an answer, of which the greatest remain.
const mostShared = 10_000

type lentKey struct {
	graph, quota string
	shape        uint64
	subject      access.Subject
}

// lent is an account.
type lent struct {
	window, ends int64 // its number, and the instant of its end
	holders      map[uint64]*holder
}

// holder is what a process has of an account.
type holder struct {
	used  int64
	held  int64 // up to which it may use, by the last answer or, if it has not got that, by the one before
	seen  int64 // the instant of its last report
	wants bool
}

func newID() uint64 { return rand.Uint64() | 1 }

// NewLender returns a lender that has lent nothing. clock returns the time; nil is that of the machine.
func NewLender(clock func() time.Time) *Lender {
	if clock == nil {
		clock = time.Now
	}
	return &Lender{id: newID(), clock: clock, start: clock().UnixNano(), accounts: map[lentKey]*lent{}, sweepAt: sweepFrom}
}

// Share answers a report. find returns a quota as it is defined, or nil.
func (d *Lender) Share(r *Report, find func(graphName, name string) *Quota) *Answer {
	now := d.clock().UnixNano()
	a := &Answer{Lender: d.id, Now: now, Grants: make([]Grant, len(r.Entries))}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range r.Entries {
		e := &r.Entries[i]
		if q := find(e.Graph, e.Quota); q != nil && q.shape == e.Shape {
			a.Grants[i] = d.lend(q, r.Process, e, now)
		}
	}
	if r.List != "" {
		for k, l := range d.accounts {
			if k.graph == r.List && now < l.ends {
				used, _ := l.taken(0, now)
				a.Uses = append(a.Uses, SharedUse{Quota: k.quota, Shape: k.shape, Subject: k.subject, Used: used})
			}
		}
		slices.SortFunc(a.Uses, func(x, y SharedUse) int { return cmp.Compare(y.Used, x.Used) })
		a.Uses = a.Uses[:min(len(a.Uses), mostShared)]
	}
	return a
}

// lend answers an entry. The caller holds d.mu.
func (d *Lender) lend(q *Quota, process uint64, e *Entry, now int64) Grant {
	g := Grant{Window: q.number(now)}
	if e.Window != g.Window {
		return g // the process learns the time
	}
	key := lentKey{e.Graph, e.Quota, e.Shape, e.Subject}
	l := d.accounts[key]
	if l == nil {
		if len(d.accounts) >= d.sweepAt {
			d.sweep(now)
		}
		l = &lent{}
		d.accounts[key] = l
	}
	if l.window != g.Window {
		*l = lent{window: g.Window, ends: now + int64(q.left(now)), holders: map[uint64]*holder{}}
	}
	h := l.holders[process]
	if h == nil {
		h = &holder{}
		l.holders[process] = h
	}
	h.used, h.seen, h.wants = max(h.used, e.Used), now, e.Wants
	used, reserved := l.taken(process, now)
	g.Others, g.Granted = used, h.used
	if free := q.limit - reserved - h.used; e.Wants && free > 0 {
		g.Granted += d.batch(q, l, free, now)
	}
	h.held = max(g.Granted, e.Granted)
	return g
}

// taken returns what all processes but one have used of an account, and what they have used or may use.
func (l *lent) taken(but uint64, now int64) (used, reserved int64) {
	for process, h := range l.holders {
		if process == but {
			continue
		}
		used += h.used
		if now-h.seen < int64(LeaseTime) {
			reserved += max(h.held, h.used)
		} else {
			reserved += h.used
		}
	}
	return used, reserved
}

// batch returns how much of what is free a process gets: half of its part, so that something is left for the others, but not so little that it
// asks all the time.
func (d *Lender) batch(q *Quota, l *lent, free, now int64) int64 {
	n := int64(0)
	for _, h := range l.holders {
		if h.wants && now-h.seen < int64(deafTime) {
			n++
		}
	}
	b := min(max(free/(2*n), q.limit/64, 1), free)
	if now-d.start < int64(WarmTime) {
		b = min(b, max(q.limit/64, 1))
	}
	return b
}

// sweep drops accounts of former windows.
func (d *Lender) sweep(now int64) {
	for key, l := range d.accounts {
		if now >= l.ends {
			delete(d.accounts, key)
		}
	}
	d.sweepAt = 2*len(d.accounts) + sweepFrom
}
