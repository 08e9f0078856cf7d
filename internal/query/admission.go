package query

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
)

// Admission bounds how many requests run at one time; 0 is no limit. Requests beyond that wait in a queue, in the order
// of their arrival, and are refused if it is full or when they have waited for too long.
type Admission struct {
	Running   int           // requests that run (max-queries)
	PerCaller int           // of them, those of one caller whose name is known (max-user-queries)
	Queue     int           // requests that wait, of which one caller has at most half (max-queue)
	Wait      time.Duration // in the queue; 0: as long as the request has time (queue-timeout)
}

// gate lets requests in by the limits of Admission.
type gate struct {
	limits Admission

	mu       sync.Mutex
	running  int // costly ones among them
	costly   int
	callers  map[string]load // of those whose names are known
	queue    []*waiter
	refusals [numRefusals]uint64
}

// load is what one caller has.
type load struct{ running, waiting int }

// waiter is a request in the queue; in is closed when it is let in.
type waiter struct {
	caller string
	costly bool
	in     chan struct{}
}

// costlyShare is how many requests may run for each costly one among them, so that those leave room for short ones.
const costlyShare = 8

// mostCostly is how many costly requests may run; 0 is no limit.
func (a *Admission) mostCostly() int { return (a.Running + costlyShare - 1) / costlyShare }

// Refusal is why a request was not let in.
type Refusal uint8

// The refusals.
const (
	QueueFull Refusal = iota
	QueueTimeout
	numRefusals
)

// enter lets a request of a caller in, waits until it may, or says why it may not. Who was let in calls leave.
func (g *gate) enter(ctx context.Context, caller string) error {
	g.mu.Lock()
	return g.await(ctx, caller, false)
}

// shift makes a request that was let in a costly one, of which fewer may run. Until it may go on it waits in the queue, as
// if it had not been let in; if it is refused, it is out.
func (g *gate) shift(ctx context.Context, q *Running) error {
	g.mu.Lock()
	g.stop(q.Caller, false)
	q.admitted = false
	err := g.await(ctx, q.Caller, true)
	q.admitted, q.costly = err == nil, err == nil
	return err
}

// await lets a request in, waits until it may, or says why it may not. g.mu is held, and is not when it returns.
func (g *gate) await(ctx context.Context, caller string, costly bool) error {
	if g.fits(caller, costly) {
		g.start(caller, costly)
		g.mu.Unlock()
		return nil
	}
	if len(g.queue) >= g.limits.Queue || caller != "" && g.callers[caller].waiting >= (g.limits.Queue+1)/2 {
		err := g.refuse(QueueFull, caller, costly)
		g.mu.Unlock()
		return err
	}
	w := &waiter{caller: caller, costly: costly, in: make(chan struct{})}
	g.queue = append(g.queue, w)
	g.count(caller, 0, 1)
	g.mu.Unlock()

	var late <-chan time.Time
	if g.limits.Wait > 0 {
		t := time.NewTimer(g.limits.Wait)
		defer t.Stop()
		late = t.C
	}
	var ended bool
	select {
	case <-w.in:
		return nil
	case <-ctx.Done():
		ended = true
	case <-late:
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.queue, w)
	switch {
	case i < 0 && !ended: // it was let in at the last moment
		return nil
	case i < 0:
		g.stop(caller, costly)
	default:
		g.queue = slices.Delete(g.queue, i, i+1)
		g.count(caller, 0, -1)
	}
	if ended {
		return graph.DeadlineError(context.Cause(ctx))
	}
	return g.refuse(QueueTimeout, caller, costly)
}

// leave ends a request that was let in.
func (g *gate) leave(caller string, costly bool) {
	g.mu.Lock()
	g.stop(caller, costly)
	g.mu.Unlock()
}

// fits reports whether one more request of a caller may run. g.mu is held, as in what follows.
func (g *gate) fits(caller string, costly bool) bool {
	if g.limits.Running > 0 && (g.running >= g.limits.Running || costly && g.costly >= g.limits.mostCostly()) {
		return false
	}
	return caller == "" || g.limits.PerCaller == 0 || g.callers[caller].running < g.limits.PerCaller
}

func (g *gate) start(caller string, costly bool) {
	g.running++
	if costly {
		g.costly++
	}
	g.count(caller, 1, 0)
}

// stop ends a request and lets in those that now may run.
func (g *gate) stop(caller string, costly bool) {
	g.running--
	if costly {
		g.costly--
	}
	g.count(caller, -1, 0)
	for i := 0; i < len(g.queue) && (g.limits.Running == 0 || g.running < g.limits.Running); {
		w := g.queue[i]
		if !g.fits(w.caller, w.costly) {
			i++
			continue
		}
		g.queue = slices.Delete(g.queue, i, i+1)
		g.count(w.caller, 0, -1)
		g.start(w.caller, w.costly)
		close(w.in)
	}
}

// count adds to what a caller has.
func (g *gate) count(caller string, running, waiting int) {
	if caller == "" {
		return
	}
	if g.callers == nil {
		g.callers = map[string]load{}
	}
	l := g.callers[caller]
	l.running += running
	l.waiting += waiting
	if l == (load{}) {
		delete(g.callers, caller)
		return
	}
	g.callers[caller] = l
}

func (g *gate) refuse(why Refusal, caller string, costly bool) error {
	g.refusals[why]++
	limit := fmt.Sprintf("%d requests run, the limit max-queries", g.limits.Running)
	switch {
	case g.limits.Running > 0 && g.running >= g.limits.Running:
	case costly && g.limits.Running > 0 && g.costly >= g.limits.mostCostly():
		limit = fmt.Sprintf("%d costly requests run, an eighth of the limit max-queries", g.costly)
	default:
		limit = fmt.Sprintf("%d requests of %s run, the limit max-user-queries", g.limits.PerCaller, caller)
	}
	if why == QueueFull {
		return Busy("%s, and no more may wait in the queue of max-queue, %d; try again later", limit, g.limits.Queue)
	}
	return Busy("%s, and none ended within %v, the limit queue-timeout; try again later", limit, g.limits.Wait)
}

// Busy is the error of a request that is refused because there are too many.
func Busy(format string, args ...any) error {
	return &graph.Error{
		Kind: graph.KindBusy, Code: "Neo.TransientError.Request.NoThreadsAvailable", Type: "RequestError", Phase: graph.PhaseRuntime,
		Detail: "TooManyRequests", Msg: fmt.Sprintf(format, args...),
	}
}

// Load is what the engine has to do, and what it did not let in.
type Load struct {
	Running, Queued int
	Refused         map[Refusal]uint64 // since the engine was made
}

// Load gives the requests that run, that wait, and that were refused.
func (e *Engine) Load() Load {
	g := &e.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	l := Load{Running: g.running, Queued: len(g.queue), Refused: map[Refusal]uint64{}}
	for why, n := range g.refusals {
		l.Refused[Refusal(why)] = n
	}
	return l
}

// admit lets a request in, which finish takes out again.
func (e *Engine) admit(ctx context.Context, q *Running) error {
	if q.quiet {
		return nil // the server's own probe must tell whether it works, not whether it is busy
	}
	if err := e.gate.enter(ctx, q.Caller); err != nil {
		return err
	}
	q.admitted = true
	q.turn.begin(e, q)
	e.label(ctx, q)
	return nil
}
