package query

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec"
)

// Admission bounds how many requests run at one time; 0 is no limit. Requests beyond that wait in a queue, in the order
// of their arrival, and are refused if it is full or when they have waited for too long.
type Admission struct {
	Running int           // requests that run (max-queries)
	Queue   int           // requests that wait, of which one caller has at most half (max-queue)
	Wait    time.Duration // in the queue; 0: as long as the request has time (queue-timeout)
	Caller  access.Limits // of each caller whose name is known and whose token has no limits of its own (user-limits)
	Graph   access.Limits // of each graph (graph-limits)
}

// gate lets requests in by the limits of Admission.
type gate struct {
	limits  Admission
	relieve func(*exec.Pool) // ends requests that hold too much of it

	mu       sync.Mutex
	running  int // costly ones among them
	costly   int
	callers  map[string]*share // of those whose names are known; with graphs, those that have no requests now may be missing
	graphs   map[string]*share
	queue    []*waiter
	refusals [numRefusals]uint64
}

// share is what one caller, or all callers of one graph, have of the server.
type share struct {
	name, setting            string
	limits                   access.Limits
	running, costly, waiting int
	pool                     *exec.Pool // what its statements hold; nil: as much as they may all together
}

// The settings that limit shares.
const (
	userLimits  = "user-limits"
	graphLimits = "graph-limits"
)

// mostIdleShares is the number of shares from which on those without requests are forgotten before another is made.
const mostIdleShares = 128

// owner is what messages call whose share it is.
func (s *share) owner() string {
	if s.setting == graphLimits {
		return fmt.Sprintf("the graph %q", s.name)
	}
	return s.name
}

// place is where a request stands: what it takes, and who has to have room for it.
type place struct {
	caller, graph *share // caller is nil where nobody knows the name
	costly        bool
}

// shares are those of a place, of which the first may be nil.
func (p *place) shares() [2]*share { return [2]*share{p.caller, p.graph} }

// waiter is a request in the queue; in is closed when it is let in.
type waiter struct {
	place
	in chan struct{}
}

// costlyShare is how many requests may run for each costly one among them, so that those leave room for short ones.
const costlyShare = 8

// mostCostly is how many of so many requests may be costly; 0 is no limit.
func mostCostly(running int) int { return (running + costlyShare - 1) / costlyShare }

// Refusal is why a request was not let in.
type Refusal uint8

// The refusals.
const (
	QueueFull Refusal = iota
	QueueTimeout
	RateLimit
	numRefusals
)

// enter lets a request in, waits until it may, or says why it may not. Who was let in calls leave.
func (g *gate) enter(ctx context.Context, q *Running, own *access.Limits) (waited bool, err error) {
	g.mu.Lock()
	p := place{graph: g.share(&g.graphs, q.Graph, g.limits.Graph)}
	if q.Caller != "" {
		l := g.limits.Caller
		if own != nil {
			l = *own
		}
		p.caller = g.share(&g.callers, q.Caller, l)
	}
	return g.await(ctx, q, p)
}

// share finds what a caller or a graph has, under the limits of now. g.mu is held.
func (g *gate) share(of *map[string]*share, name string, l access.Limits) *share {
	if *of == nil {
		*of = map[string]*share{}
	}
	s := (*of)[name]
	if s == nil {
		if len(*of) >= mostIdleShares {
			maps.DeleteFunc(*of, func(_ string, s *share) bool { return s.running+s.waiting == 0 })
		}
		s = &share{name: name, setting: userLimits}
		if of == &g.graphs {
			s.setting = graphLimits
		}
		(*of)[name] = s
	}
	if l.Memory != s.limits.Memory {
		s.pool = nil
		if l.Memory > 0 {
			s.pool = &exec.Pool{Limit: l.Memory, Owner: s.owner(), Relieve: g.relieve}
		}
	}
	s.limits = l
	return s
}

// shift makes a request that was let in a costly one, of which fewer may run, or one of another graph. Until it may go on
// it waits in the queue, as if it had not been let in; if it is refused, it is out.
func (g *gate) shift(ctx context.Context, q *Running, costly bool, graphName string) error {
	g.mu.Lock()
	p := q.place
	g.stop(&q.place)
	q.admitted = false
	p.costly = costly
	if graphName != p.graph.name {
		p.graph = g.share(&g.graphs, graphName, g.limits.Graph)
	}
	_, err := g.await(ctx, q, p)
	return err
}

// await lets a request in, waits until it may, or says why it may not. g.mu is held, and is not when it returns.
func (g *gate) await(ctx context.Context, q *Running, p place) (waited bool, err error) {
	if g.fits(&p) {
		g.start(&p)
		q.place, q.admitted = p, true
		g.mu.Unlock()
		return false, nil
	}
	if len(g.queue) >= g.limits.Queue || p.caller != nil && p.caller.waiting >= (g.limits.Queue+1)/2 {
		err := g.refuse(QueueFull, &p)
		g.mu.Unlock()
		return false, err
	}
	w := &waiter{place: p, in: make(chan struct{})}
	g.queue = append(g.queue, w)
	p.count(0, 1)
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
		q.place, q.admitted = p, true
		return true, nil
	case <-ctx.Done():
		ended = true
	case <-late:
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.queue, w)
	switch {
	case i < 0 && !ended: // it was let in at the last moment
		q.place, q.admitted = p, true
		return true, nil
	case i < 0:
		g.stop(&p)
	default:
		g.queue = slices.Delete(g.queue, i, i+1)
		p.count(0, -1)
	}
	if ended {
		return true, graph.DeadlineError(context.Cause(ctx))
	}
	return true, g.refuse(QueueTimeout, &p)
}

// leave ends a request that was let in.
func (g *gate) leave(q *Running) {
	g.mu.Lock()
	g.stop(&q.place)
	g.mu.Unlock()
}

// fits reports whether there is room for one more request. g.mu is held, as in what follows.
func (g *gate) fits(p *place) bool {
	if n := g.limits.Running; n > 0 && (g.running >= n || p.costly && g.costly >= mostCostly(n)) {
		return false
	}
	return p.narrow() == nil
}

// narrow is the share that has no room for one more request, or nil.
func (p *place) narrow() *share {
	for _, s := range p.shares() {
		if s == nil || s.limits.Queries == 0 {
			continue
		}
		if s.running >= s.limits.Queries || p.costly && s.costly >= mostCostly(s.limits.Queries) {
			return s
		}
	}
	return nil
}

func (g *gate) start(p *place) {
	g.running++
	if p.costly {
		g.costly++
	}
	p.count(1, 0)
}

// stop ends a request and lets in those that now may run.
func (g *gate) stop(p *place) {
	g.running--
	if p.costly {
		g.costly--
	}
	p.count(-1, 0)
	for i := 0; i < len(g.queue) && (g.limits.Running == 0 || g.running < g.limits.Running); {
		w := g.queue[i]
		if !g.fits(&w.place) {
			i++
			continue
		}
		g.queue = slices.Delete(g.queue, i, i+1)
		w.count(0, -1)
		g.start(&w.place)
		close(w.in)
	}
}

// count adds to what the shares of a place have.
func (p *place) count(running, waiting int) {
	for _, s := range p.shares() {
		if s == nil {
			continue
		}
		s.running += running
		s.waiting += waiting
		if p.costly {
			s.costly += running
		}
	}
}

func (g *gate) refuse(why Refusal, p *place) error {
	g.refusals[why]++
	limit := fmt.Sprintf("%d requests run, the limit max-queries", g.limits.Running)
	switch s := p.narrow(); {
	case g.limits.Running > 0 && g.running >= g.limits.Running:
	case p.costly && g.limits.Running > 0 && g.costly >= mostCostly(g.limits.Running):
		limit = fmt.Sprintf("%d costly requests run, an eighth of the limit max-queries", g.costly)
	case s != nil && s.running < s.limits.Queries:
		limit = fmt.Sprintf("%d costly requests of %s run, an eighth of its limit of queries (%s)", s.costly, s.owner(), s.setting)
	case s != nil:
		limit = fmt.Sprintf("%d requests of %s run, its limit of queries (%s)", s.running, s.owner(), s.setting)
	}
	if why == QueueFull {
		return graph.Busy(0, "%s, and no more may wait in the queue of max-queue, %d; try again later", limit, g.limits.Queue)
	}
	return graph.Busy(0, "%s, and none ended within %v, the limit queue-timeout; try again later", limit, g.limits.Wait)
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
	l.Refused[RateLimit] = e.opt.Rates.Refused()
	return l
}

// admit lets a request in that has begun at start, which finish takes out again.
func (e *Engine) admit(ctx context.Context, q *Running, start time.Time) error {
	if q.quiet {
		return nil // the server's own probe must tell whether it works, not whether it is busy
	}
	if err := access.EnterGraph(ctx, q.Graph); err != nil {
		return err
	}
	var own *access.Limits
	if id := access.Caller(ctx); id != nil {
		own = id.Limits
	}
	waited, err := e.gate.enter(ctx, q, own)
	if err != nil {
		return err
	}
	now := int64(start.Sub(epoch))
	if waited {
		now = instant()
	}
	q.turn.begin(e, q, now)
	e.label(ctx, q)
	return nil
}
