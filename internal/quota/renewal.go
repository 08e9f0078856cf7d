package quota

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// renewEvery is how often a process reports what it has used.
	renewEvery = time.Second
	// mostEntries bounds the accounts of one report.
	mostEntries = 4096
	// shareTime is how long an answer to a report is awaited.
	shareTime = time.Second
)

// renewal is how a ledger asks its Source for batches, on a goroutine that runs while accounts are in use.
type renewal struct {
	wake chan struct{} // an account needs a batch

	queueMu sync.Mutex
	queue   []*account // to be reported
	running bool
	stop    context.CancelFunc
	stopped chan struct{}
	closed  bool

	turn   chan struct{} // holds one: whose turn it is to report may use what follows
	lender uint64        // of the last answer
	held   []*account    // that have a batch, or a question for one
	until  int64         // the instant at which the last window ends of those that were reported
}

// took notes that an account has been charged. The caller holds a.mu.
func (l *Ledger) took(a *account, now int64) {
	if l.source == nil {
		return
	}
	if a.low() && (!a.denied || now-a.answered >= int64(GraceTime)) {
		l.wish(a, now)
		return
	}
	l.enqueue(a)
}

// wish asks for another batch. The caller holds a.mu.
func (l *Ledger) wish(a *account, now int64) {
	if a.asked == 0 {
		a.asked = now
		l.enqueue(a)
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

// enqueue has an account reported. The caller holds a.mu.
func (l *Ledger) enqueue(a *account) {
	if a.queued {
		return
	}
	a.queued = true
	l.queueMu.Lock()
	defer l.queueMu.Unlock()
	l.queue = append(l.queue, a)
	if l.running || l.closed {
		return
	}
	var ctx context.Context
	ctx, l.stop = context.WithCancel(context.Background())
	l.running, l.stopped = true, make(chan struct{})
	go l.renew(ctx, l.stopped)
}

// Close ends the reports.
func (l *Ledger) Close() {
	l.queueMu.Lock()
	l.closed = true
	stop, stopped := l.stop, l.stopped
	l.queueMu.Unlock()
	if stop != nil {
		stop()
		<-stopped
	}
}

// renew reports to the Source until no account is in use.
func (l *Ledger) renew(ctx context.Context, stopped chan struct{}) {
	defer close(stopped)
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for {
		idle := false
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		case <-tick.C:
			idle = true
		}
		_, err := l.round(ctx, idle, "")
		if err != nil {
			select { // not at once again
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
		if l.rest() {
			return
		}
	}
}

// rest ends the goroutine if there is nothing to do for it.
func (l *Ledger) rest() bool {
	l.turn <- struct{}{}
	busy := len(l.held) > 0 || l.now() < l.until
	<-l.turn
	l.queueMu.Lock()
	defer l.queueMu.Unlock()
	if busy || len(l.queue) > 0 {
		return false
	}
	l.running = false
	return true
}

// ask reports all, and returns the accounts of a graph.
func (l *Ledger) ask(ctx context.Context, graphName string) ([]SharedUse, error) {
	return l.round(ctx, true, graphName)
}

// round makes a report. An idle one returns batches of which nothing has been used since the last. list is a graph whose accounts are asked for.
func (l *Ledger) round(ctx context.Context, idle bool, list string) ([]SharedUse, error) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-l.turn }()
	for {
		known := l.lender
		uses, more, err := l.report(ctx, idle, list)
		if err != nil {
			return nil, err
		}
		if known != l.lender && known != 0 {
			l.enqueueAll()
			continue
		}
		if !more {
			return uses, nil
		}
	}
}

// enqueueAll has all accounts reported that are used in the present window, since the Source does not know them.
func (l *Ledger) enqueueAll() {
	l.change.Lock()
	defer l.change.Unlock()
	for _, b := range l.graphs {
		for _, m := range b.meters {
			for _, a := range m.accounts() {
				a.mu.Lock()
				a.roll(m.q, l.now())
				if a.taken > 0 || a.granted > 0 {
					l.enqueue(a)
				}
				a.mu.Unlock()
			}
		}
	}
}

// report sends one report with the accounts that wait for one, up to mostEntries, and reports whether more wait. The caller has l.turn.
func (l *Ledger) report(ctx context.Context, idle bool, list string) (uses []SharedUse, more bool, err error) {
	l.queueMu.Lock()
	n := min(len(l.queue), mostEntries)
	all := l.queue[:n:n]
	l.queue = l.queue[n:]
	more = len(l.queue) > 0
	l.queueMu.Unlock()
	sent := l.now()
	r := &Report{Process: l.id, List: list}
	for _, a := range all {
		a.mu.Lock()
		a.queued = false
		r.Entries = append(r.Entries, l.entry(a, sent, true))
		if !a.held {
			a.held = true
			l.held = append(l.held, a)
		}
		a.mu.Unlock()
	}
	if idle && !more {
		all, r.Entries = l.unused(all, r.Entries, sent)
	}
	if len(r.Entries) == 0 && list == "" && !idle {
		return nil, more, nil
	}
	within, cancel := context.WithTimeout(ctx, shareTime)
	defer cancel()
	answer, err := l.source.Share(within, r)
	if err == nil && len(answer.Grants) != len(r.Entries) {
		err = errAnswer
	}
	if err != nil {
		for i, a := range all {
			if r.Entries[i].Wants {
				a.mu.Lock()
				l.enqueue(a)
				a.mu.Unlock()
			}
		}
		return nil, false, err
	}
	ahead := answer.Now - sent - (l.now()-sent)/2
	l.skew.Add(ahead)
	l.lender = answer.Lender
	sent += ahead
	now := l.now()
	for i, a := range all {
		l.grant(a, &r.Entries[i], &answer.Grants[i], sent, now)
	}
	l.forget(now)
	return answer.Uses, more, nil
}

// entry returns what is reported of an account. The caller holds a.mu.
func (l *Ledger) entry(a *account, now int64, wants bool) Entry {
	m := a.m.Load()
	a.roll(m.q, now)
	a.told = a.taken
	e := Entry{Graph: m.graph, Quota: m.q.Name, Shape: m.q.shape, Subject: a.subject, Window: a.window, Used: a.taken, Wants: wants}
	if now < a.until {
		e.Granted = a.granted
	}
	return e
}

// unused adds the accounts that hold a batch of which nothing has been used since the last report, or that ended.
func (l *Ledger) unused(all []*account, entries []Entry, now int64) ([]*account, []Entry) {
	reported := make(map[*account]bool, len(all))
	for _, a := range all {
		reported[a] = true
	}
	for _, a := range l.held {
		if reported[a] || len(all) >= mostEntries {
			continue
		}
		a.mu.Lock()
		if a.granted > a.taken && now < a.until && !a.queued {
			a.granted, a.batch = a.taken, 0 // before it is returned
			all, entries = append(all, a), append(entries, l.entry(a, now, false))
		}
		a.mu.Unlock()
	}
	return all, entries
}

// grant takes the answer to an entry.
func (l *Ledger) grant(a *account, e *Entry, g *Grant, sent, now int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.m.Load().q
	a.roll(q, now)
	l.until = max(l.until, now+int64(q.left(now)))
	if g.Window != a.window || e.Window != a.window {
		a.asked = 0 // the Source is in another window, or has no such quota any more: the next request asks again
		return
	}
	a.others, a.asked, a.answered = max(a.others, g.Others), 0, now
	if !e.Wants {
		return
	}
	a.granted, a.batch, a.until = g.Granted, g.Granted-e.Used, sent+int64(LeaseTime)
	a.denied = g.Granted <= e.Used
}

// forget drops accounts without a batch from those that have one.
func (l *Ledger) forget(now int64) {
	kept := l.held[:0]
	for _, a := range l.held {
		a.mu.Lock()
		a.held = a.queued || a.granted > a.taken && now < a.until && a.window == a.m.Load().q.number(now)
		if a.held {
			kept = append(kept, a)
		}
		a.mu.Unlock()
	}
	clear(l.held[len(kept):])
	l.held = kept
}

var errAnswer = errors.New("the answer to a report of quotas has not one grant for each account")
