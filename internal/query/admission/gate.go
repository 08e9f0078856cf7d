package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
)

// Limits bounds how many requests run at one time; 0 is no limit. Further requests wait in a queue in the order of their
// arrival. They are refused if the queue is full or the wait takes too long.
type Limits struct {
	Running int           // requests that run (max-queries)
	Queue   int           // queued requests; one caller has at most half (max-queue)
	Wait    time.Duration // in the queue; 0: as long as the request has time (queue-timeout)
	Caller  access.Limits // of each caller with a name whose token has no limits of its own (user-limits)
	Graph   access.Limits // of each graph (graph-limits)
}

// Gate admits requests within Limits, and assigns cores to the long-running ones. It is safe for concurrent use.
type Gate struct {
	limits  Limits
	relieve func(*memory.Pool)
	cpu     slots

	mu          sync.Mutex
	running     int // including long-running ones
	longRunning int
	callers     map[owner]*share // callers and graphs without requests may be missing
	graphs      map[owner]*share
	queue       []*waiter
	refusals    [numRefusals]uint64
}

// New returns a gate. relieve ends requests that hold too much of a pool, which is that of a caller or a graph.
func New(l Limits, relieve func(*memory.Pool)) *Gate { return &Gate{limits: l, relieve: relieve} }

// SetLimits changes the limits, those of callers and graphs from the next request of each. What runs goes on; requests that wait keep the time
// that they may wait.
func (g *Gate) SetLimits(l Limits) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limits = l
	g.admit()
}

// owner is a caller or a graph.
type owner struct {
	caller access.Subject
	graph  string
}

// String names the owner for messages.
func (o owner) String() string {
	if o.graph != "" {
		return fmt.Sprintf("the graph %q", o.graph)
	}
	return o.caller.Name
}

// share holds the use of the server by one caller, or by all callers of one graph, and their limits.
type share struct {
	of                            owner
	setting                       string
	limits                        access.Limits
	cost                          atomic.Int64 // limits.Cost, for requests that run
	running, longRunning, waiting int
	pool                          *memory.Pool // bounds the memory of its statements; nil: only the process does
}

// The settings that limit shares.
const (
	userLimits  = "user-limits"
	graphLimits = "graph-limits"
)

// maxIdleShares bounds the shares without requests: from this number on, they are dropped before another is created.
const maxIdleShares = 128

// place is the claim of a request: the shares that it counts against, and whether it is long-running.
type place struct {
	caller, graph *share // nil: unknown
	longRunning   bool
}

// shares returns the shares of a place; both may be nil.
func (p *place) shares() [2]*share { return [2]*share{p.caller, p.graph} }

// waiter is a request in the queue. Closing in admits it.
type waiter struct {
	place
	in chan struct{}
}

// longRunningShare is the number of running requests for each long-running one among them, which leaves room for short ones.
const longRunningShare = 8

// maxLongRunning is how many of that many requests may be long-running; 0 is no limit.
func maxLongRunning(running int) int { return (running + longRunningShare - 1) / longRunningShare }

// Refusal is the reason why a request was refused.
type Refusal uint8

// The refusals.
const (
	QueueFull Refusal = iota
	QueueTimeout
	RateLimit // by access.Rates
	numRefusals
)

// share finds or creates the share of a caller or a graph and sets its present limits. The caller holds g.mu.
func (g *Gate) share(in *map[owner]*share, of owner, l access.Limits) *share {
	if *in == nil {
		*in = map[owner]*share{}
	}
	s := (*in)[of]
	if s == nil {
		if len(*in) >= maxIdleShares {
			maps.DeleteFunc(*in, func(_ owner, s *share) bool { return s.running+s.waiting == 0 })
		}
		s = &share{of: of, setting: userLimits}
		if of.graph != "" {
			s.setting = graphLimits
		}
		(*in)[of] = s
	}
	if l.Memory != s.limits.Memory {
		s.pool = nil
		if l.Memory > 0 {
			s.pool = &memory.Pool{Limit: l.Memory, Owner: s.of.String(), Relieve: g.relieve}
		}
	}
	s.limits = l
	s.cost.Store(l.Cost)
	return s
}

// await admits a request at once or after waiting, or refuses it. The caller holds g.mu; await releases it.
func (g *Gate) await(ctx context.Context, t *Ticket, p place) (waited bool, err error) {
	if g.fits(&p) {
		g.start(&p)
		t.place, t.admitted = p, true
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
	most := g.limits.Wait
	g.mu.Unlock()

	var late <-chan time.Time
	if most > 0 {
		timer := time.NewTimer(most)
		defer timer.Stop()
		late = timer.C
	}
	var ended bool
	select {
	case <-w.in:
		t.place, t.admitted = p, true
		return true, nil
	case <-ctx.Done():
		ended = true
	case <-late:
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.queue, w)
	switch {
	case i < 0 && !ended: // admitted just before the timeout
		t.place, t.admitted = p, true
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

// fits reports whether one more request may run. The caller holds g.mu, as for the functions below.
func (g *Gate) fits(p *place) bool {
	if n := g.limits.Running; n > 0 && (g.running >= n || p.longRunning && g.longRunning >= maxLongRunning(n)) {
		return false
	}
	return p.exhausted() == nil
}

// exhausted returns the share that has no room for one more request, or nil.
func (p *place) exhausted() *share {
	for _, s := range p.shares() {
		if s == nil || s.limits.Queries == 0 {
			continue
		}
		if s.running >= s.limits.Queries || p.longRunning && s.longRunning >= maxLongRunning(s.limits.Queries) {
			return s
		}
	}
	return nil
}

func (g *Gate) start(p *place) {
	g.running++
	if p.longRunning {
		g.longRunning++
	}
	p.count(1, 0)
}

// stop ends a request and admits waiting ones.
func (g *Gate) stop(p *place) {
	g.running--
	if p.longRunning {
		g.longRunning--
	}
	p.count(-1, 0)
	g.admit()
}

// admit admits waiting requests that fit now.
func (g *Gate) admit() {
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

// count adds to the counters of a place's shares.
func (p *place) count(running, waiting int) {
	for _, s := range p.shares() {
		if s == nil {
			continue
		}
		s.running += running
		s.waiting += waiting
		if p.longRunning {
			s.longRunning += running
		}
	}
}

func (g *Gate) refuse(why Refusal, p *place) error {
	g.refusals[why]++
	limit := fmt.Sprintf("%d requests run, the limit max-queries", g.limits.Running)
	switch s := p.exhausted(); {
	case g.limits.Running > 0 && g.running >= g.limits.Running:
	case p.longRunning && g.limits.Running > 0 && g.longRunning >= maxLongRunning(g.limits.Running):
		limit = fmt.Sprintf("%d long-running requests run, an eighth of the limit max-queries", g.longRunning)
	case s != nil && s.running < s.limits.Queries:
		limit = fmt.Sprintf("%d long-running requests of %s run, an eighth of its limit of queries (%s)", s.longRunning, s.of, s.setting)
	case s != nil:
		limit = fmt.Sprintf("%d requests of %s run, its limit of queries (%s)", s.running, s.of, s.setting)
	}
	if why == QueueFull {
		return graph.Busy(0, "%s, and no more may wait in the queue of max-queue, %d; try again later", limit, g.limits.Queue)
	}
	return graph.Busy(0, "%s, and none ended within %v, the limit queue-timeout; try again later", limit, g.limits.Wait)
}

// Load is the current load, and the number of requests that were refused.
type Load struct {
	Running, LongRunning, Queued int
	Cores                        int                // that long-running requests hold
	Refused                      map[Refusal]uint64 // since the gate was created
}

// Load counts the requests that run, wait and were refused.
func (g *Gate) Load() Load {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := Load{Running: g.running, LongRunning: g.longRunning, Cores: g.cpu.count(), Queued: len(g.queue), Refused: map[Refusal]uint64{}}
	for why, n := range g.refusals {
		l.Refused[Refusal(why)] = n
	}
	return l
}
