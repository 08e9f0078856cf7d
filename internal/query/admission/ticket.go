package admission

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/query/exec"
)

const (
	// LongRunningRows is the estimate of an operator's rows from which a plan counts as long-running before its first run.
	LongRunningRows = 10_000_000
	// LargeText is the size in bytes of a statement that is long-running to parse and whose plan is not cached.
	LargeText = 64 << 10
	// A request is long-running once it has computed for longRunningTime and yielded longRunningYields times. One that yielded less
	// often spent the time waiting on a busy machine.
	longRunningTime   = 20 * time.Millisecond
	longRunningYields = 16
	// stallTime is how long a request that writes to its client keeps its place. A client that reads gets on within it.
	stallTime = time.Second
	// evicted is the value of Ticket.sending of a request that has lost its place.
	evicted = math.MinInt64
)

// epoch is the origin of instants.
var epoch = time.Now()

// Instant returns the nanoseconds from the start of the process to a time.
func Instant(t time.Time) int64 { return int64(t.Sub(epoch)) }

// Now returns the present instant.
func Now() int64 { return int64(time.Since(epoch)) }

// Time returns the time of an instant.
func Time(instant int64) time.Time { return epoch.Add(time.Duration(instant)) }

// Ticket is a request's place in a gate, and its use of the cores. Its zero value, of a request that no limit applies to, never waits. Only the
// request's goroutine uses it, but for Evict.
type Ticket struct {
	slot
	place    place
	plan     *exec.Prepared // the running one
	admitted bool           // it must leave the gate
	lost     bool           // its place, while it wrote; guarded by Gate.mu
	sending  atomic.Int64   // the instant at which it began to write to its client; 0: it does not write; evicted
	spent    *spent         // nil: it has neither waited nor had helpers
}

// spent is what few requests take. Their own goroutine creates it.
type spent struct {
	queue   int64        // nanoseconds in the queue
	helpers atomic.Int64 // nanoseconds of goroutines that computed for the request beside its own
}

// spend returns the request's spent.
func (t *Ticket) spend() *spent {
	if t.spent == nil {
		t.spent = new(spent)
	}
	return t.spent
}

// waited adds the time from an instant until now in the queue.
func (t *Ticket) waited(since int64) { t.spend().queue += Now() - since }

// Enter admits a request of a caller that began at start, at once or after waiting, or refuses it. It counts against a graph, if that is not "".
// own, unless it is nil, are limits of the caller's own. A request that was admitted calls End and Leave.
func (t *Ticket) Enter(ctx context.Context, g *Gate, caller access.Subject, graphName string, own *access.Limits, start time.Time) error {
	g.mu.Lock()
	var p place
	if graphName != "" {
		p.graph = g.share(&g.graphs, owner{graph: graphName}, g.limits.Graph)
	}
	if caller.Name != "" {
		l := g.limits.Caller
		if own != nil {
			l = *own
		}
		p.caller = g.share(&g.callers, owner{caller: caller}, l)
	}
	waited, err := g.await(ctx, t, p)
	if err != nil {
		return err
	}
	now := Instant(start)
	if waited {
		t.waited(now)
		now = Now()
	}
	t.begin(g, now)
	return nil
}

// readmit turns an admitted request into a long-running one, of which fewer may run, or moves it to another graph, if that is not "". The request
// waits in the queue as if it had not been admitted; if it is refused, it has left.
func (t *Ticket) readmit(ctx context.Context, longRunning bool, graphName string) error {
	g := t.gate
	g.mu.Lock()
	p := t.place
	if t.admitted { // unless it was evicted
		g.stop(&t.place)
	}
	t.sending.Store(0)
	t.admitted, t.lost = false, false
	p.longRunning = longRunning
	if graphName != "" {
		p.graph = g.share(&g.graphs, owner{graph: graphName}, g.limits.Graph)
	}
	began := Now()
	waited, err := g.await(ctx, t, p)
	if waited {
		t.waited(began)
	}
	return err
}

// Leave gives up the place of an admitted request.
func (t *Ticket) Leave() {
	if !t.admitted {
		return
	}
	t.admitted = false
	g := t.gate
	g.mu.Lock()
	g.stop(&t.place)
	g.mu.Unlock()
}

// Admitted reports whether the request has a place.
func (t *Ticket) Admitted() bool { return t.admitted }

// EnterAgain readmits a request that has left, with the kind of place that it had.
func (t *Ticket) EnterAgain(ctx context.Context) error {
	g := t.gate
	g.mu.Lock()
	_, err := g.await(ctx, t, g.same(t.place))
	return err
}

// same returns a place like one whose shares may have been dropped. The caller holds g.mu.
func (g *Gate) same(p place) place {
	if p.graph != nil {
		p.graph = g.share(&g.graphs, p.graph.of, p.graph.limits)
	}
	if p.caller != nil {
		p.caller = g.share(&g.callers, p.caller.of, p.caller.limits)
	}
	return p
}

// StepAside gives up the place of a request that waits for another transaction, whose statements may need it. back takes one at once,
// because others wait for this request then.
func (t *Ticket) StepAside() (back func()) {
	if !t.admitted {
		return func() {}
	}
	t.Suspend()
	t.Leave()
	return func() {
		g := t.gate
		g.mu.Lock()
		t.place = g.same(t.place)
		g.start(&t.place)
		g.mu.Unlock()
		t.admitted = true
	}
}

// MoveToGraph counts an admitted request against another graph.
func (t *Ticket) MoveToGraph(ctx context.Context, graphName string) error {
	if g := t.place.graph; !t.admitted || g != nil && g.of.graph == graphName {
		return nil
	}
	if err := access.EnterGraph(ctx, graphName); err != nil {
		return err
	}
	t.Suspend()
	if err := t.readmit(ctx, t.longRunning, graphName); err != nil {
		return err
	}
	if t.longRunning {
		t.acquire(ctx)
	}
	return nil
}

// BeginPlan sets the plan that the request runs from now on. If the plan is known to be long-running, the request waits for a
// slot at once.
func (t *Ticket) BeginPlan(ctx context.Context, p *exec.Prepared) error {
	if !t.begun {
		return nil
	}
	t.plan = p
	if !t.longRunning && p.LongRunning() {
		return t.BecomeLongRunning(ctx)
	}
	return nil
}

// BecomeLongRunning marks the request as long-running: it counts as such, and waits for a slot.
func (t *Ticket) BecomeLongRunning(ctx context.Context) error {
	if !t.begun || t.longRunning {
		return nil
	}
	t.Suspend()
	if err := t.readmit(ctx, true, ""); err != nil {
		return err
	}
	t.longRunning = true
	t.acquire(ctx)
	return nil
}

// Yield lets other requests compute if the time slice is over. The context may have ended when it returns.
func (t *Ticket) Yield(ctx context.Context) error {
	if !t.begun {
		return nil
	}
	if t.longRunning {
		t.yield(ctx)
		return nil
	}
	if t.yields++; t.yields < 2 && t.since != 0 {
		return nil
	}
	if now := t.computing(); t.used+now-t.since < int64(longRunningTime) || t.yields < longRunningYields {
		return nil
	}
	t.plan.SetLongRunning(true)
	return t.BecomeLongRunning(ctx)
}

// Helpers returns slots for goroutines that compute for a long-running request, one for each processor that no other request
// waits for. The last one runs on the request's own slot, because the request waits for its helpers.
func (t *Ticket) Helpers(most int) []exec.Helper {
	if !t.begun || !t.longRunning || !t.held {
		return nil
	}
	var hs []exec.Helper
	for len(hs) < most-1 && t.gate.cpu.tryAcquire() {
		now := Now()
		hs = append(hs, &helper{slot{gate: t.gate, begun: true, longRunning: true, held: true, since: now, lastYield: now}, t.spend()})
	}
	if hs != nil {
		hs = append(hs, &helper{slot{gate: t.gate, lastYield: Now()}, nil})
	}
	return hs
}

// helper is the slot of a goroutine that computes for a request.
type helper struct {
	slot
	spent *spent // of the request; nil: the goroutine computes while the request, whose clock runs, waits for it
}

// Yield implements exec.Slot.
func (h *helper) Yield(ctx context.Context) error {
	if h.longRunning {
		h.yield(ctx)
	} else {
		h.gosched(Now())
	}
	return nil
}

// Helpers implements exec.Slot: a helper has none.
func (*helper) Helpers(int) []exec.Helper { return nil }

// Contended implements exec.Helper.
func (h *helper) Contended() bool { return h.longRunning && h.gate.cpu.contended() }

// Release implements exec.Helper.
func (h *helper) Release() {
	if h.spent != nil {
		h.suspendAt(Now())
		h.spent.helpers.Add(h.used)
		h.used = 0
	}
	h.release()
}

// BeforeWrite suspends the request before it writes to its client, which may block.
func (t *Ticket) BeforeWrite() {
	if !t.begun {
		return
	}
	t.Suspend()
	t.sending.Store(t.gosched(Now()))
}

// Written says that the request does not write to its client any more. lost reports whether it has lost its place meanwhile.
func (t *Ticket) Written() (lost bool) {
	if t.sending.Load() == 0 || t.sending.Swap(0) != evicted {
		return false
	}
	t.gate.mu.Lock()
	defer t.gate.mu.Unlock()
	lost, t.lost = t.lost, false
	return lost
}

// Resume waits for a place after a write, if the request has lost its own.
func (t *Ticket) Resume(ctx context.Context) error {
	if t.Written() {
		return t.EnterAgain(ctx)
	}
	return nil
}

// Evict takes the place of a request that has, at an instant, written to its client for longer than a second. Any goroutine may call it.
func (t *Ticket) Evict(now int64) {
	since := t.sending.Load()
	if since == 0 || since == evicted || now-since < int64(stallTime) {
		return
	}
	g := t.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.sending.CompareAndSwap(since, evicted) && t.admitted { // the request is still writing; afterwards it waits for g.mu
		g.stop(&t.place)
		t.admitted, t.lost = false, true
	}
}

// Suspend stops computing until the next Yield: the request waits for its client or for a slot.
func (t *Ticket) Suspend() { t.suspend() }

// Compute says that the request computes again, without yielding.
func (t *Ticket) Compute() {
	if t.begun && t.since == 0 {
		t.since = Now()
	}
}

// End ends the request's use of the cores. A request that exceeded its budget starts as long-running next
// time, however soon it failed. A request that failed for another reason leaves its plan's class unchanged.
func (t *Ticket) End(now time.Time, err error) {
	if !t.begun {
		return
	}
	at := Instant(now)
	t.suspendAt(at)
	t.release()
	greedy := err != nil && graph.AsError(err).Kind == graph.KindBudget
	if !t.longRunning && !greedy {
		t.gate.cpu.lastShort.Store(at)
	}
	if t.plan != nil {
		if known := t.plan.LongRunning(); !known && greedy {
			t.plan.SetLongRunning(true)
		} else if known && err == nil && t.used < int64(longRunningTime) {
			t.plan.SetLongRunning(false)
		}
	}
	t.begun = false
}

// Spent returns for how long the request has computed until a time, with its helpers, and how long it has waited in the queue.
func (t *Ticket) Spent(now time.Time) (cpu, queue time.Duration) {
	cpu = time.Duration(t.computed(Instant(now)))
	if s := t.spent; s != nil {
		cpu, queue = cpu+time.Duration(s.helpers.Load()), time.Duration(s.queue)
	}
	return cpu, queue
}

// Ceiling returns the most units that the request may be expected to take by the limits of its caller and its graph and the setting that says so,
// or most and the setting of that; 0 is no limit.
func (t *Ticket) Ceiling(most int64, setting string) (units int64, by string) {
	for _, s := range t.place.shares() {
		if s == nil {
			continue
		}
		if c := s.cost.Load(); c > 0 && (most == 0 || c < most) {
			most, setting = c, fmt.Sprintf("cost of %s (%s)", s.of, s.setting)
		}
	}
	return most, setting
}

// Pools appends to all the pools of the request's caller and graph.
func (t *Ticket) Pools(all []*memory.Pool) []*memory.Pool {
	for _, s := range t.place.shares() {
		if s != nil && s.pool != nil {
			all = append(all, s.pool)
		}
	}
	return all
}
