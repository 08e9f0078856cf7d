package query

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec"
)

const (
	// A request is long-running once it has computed for longRunningTime and yielded longRunningYields times. One that yielded less
	// often spent the time waiting on a busy machine.
	longRunningTime   = 20 * time.Millisecond
	longRunningYields = 16
	// yieldInterval is how long a request computes between two calls of runtime.Gosched, from its second yield on. Without
	// them, the Go scheduler preempts after 10 ms, and short requests wait that long behind each request that computes.
	yieldInterval = time.Millisecond
	// timeSlice is how long a long-running request keeps its CPU slot while others wait for one.
	timeSlice = 10 * time.Millisecond
	// reserveTime is how long one processor stays reserved for short requests after the last of them.
	reserveTime = time.Second
	// longRunningRows is the estimate of an operator's rows from which a plan counts as long-running before its first run.
	longRunningRows = 10_000_000
	// largeText is the size in bytes of a statement that is long-running to parse and whose plan is not cached.
	largeText = 64 << 10
)

// epoch is the origin of instants, which count nanoseconds.
var epoch = time.Now()

func instant() int64 { return int64(time.Since(epoch)) }

// cpuSlots assigns cores to long-running requests in the order of their arrival: all of them, or all but one while short
// requests arrive. Short requests need no slot.
type cpuSlots struct {
	lastShort atomic.Int64 // the instant of the end of the last short request

	mu    sync.Mutex
	held  int
	queue []chan struct{}
}

// capacity returns the number of slots.
func (t *cpuSlots) capacity() int {
	n := runtime.GOMAXPROCS(0)
	if last := t.lastShort.Load(); n > 1 && last > 0 && instant()-last < int64(reserveTime) {
		n--
	}
	return n
}

// acquire waits for a slot. It returns false if ctx ends first.
func (t *cpuSlots) acquire(ctx context.Context) bool {
	t.mu.Lock()
	if t.held < t.capacity() && len(t.queue) == 0 {
		t.held++
		t.mu.Unlock()
		return true
	}
	in := make(chan struct{})
	t.queue = append(t.queue, in)
	t.mu.Unlock()
	select {
	case <-in:
		return true
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, w := range t.queue {
		if w == in {
			t.queue = append(t.queue[:i], t.queue[i+1:]...)
			return false
		}
	}
	t.held-- // granted just before ctx ended
	t.admit()
	return false
}

// tryAcquire takes a slot if one is free and no request waits.
func (t *cpuSlots) tryAcquire() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held >= t.capacity() || len(t.queue) > 0 {
		return false
	}
	t.held++
	return true
}

// release returns a slot.
func (t *cpuSlots) release() {
	t.mu.Lock()
	t.held--
	t.admit()
	t.mu.Unlock()
}

// admit grants free slots to waiting requests. The caller holds t.mu.
func (t *cpuSlots) admit() {
	for n := t.capacity(); t.held < n && len(t.queue) > 0; t.held++ {
		close(t.queue[0])
		t.queue = t.queue[1:]
	}
}

// contended reports whether a holder should release its slot.
func (t *cpuSlots) contended() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.queue) > 0 || t.held > t.capacity()
}

// cpuSlot tracks a request's use of the cores. Its zero value never waits. Only the request's goroutine uses it.
type cpuSlot struct {
	e           *Engine
	q           *Running
	plan        *exec.Prepared // the running plan
	used        int64          // nanoseconds of computing before since
	since       int64          // the instant at which computing began; 0: the request does not compute
	lastYield   int64          // the instant of the last yield
	yields      int32
	longRunning bool
	held        bool
}

// begin starts computing at an instant.
func (t *cpuSlot) begin(e *Engine, q *Running, now int64) {
	t.e, t.q, t.since, t.lastYield = e, q, now, now
}

// Yield lets other requests compute if the time slice is over. The context may have ended when it returns.
func (t *cpuSlot) Yield(ctx context.Context) error {
	if t.e == nil {
		return nil
	}
	if t.yields++; t.yields < 2 && !t.longRunning && t.since != 0 {
		return nil
	}
	now := t.gosched(instant())
	if t.since == 0 {
		t.since = now
	}
	switch spent := now - t.since; {
	case !t.longRunning && (t.used+spent < int64(longRunningTime) || t.yields < longRunningYields):
		return nil
	case !t.longRunning:
		t.plan.SetLongRunning(true)
		return t.becomeLongRunning(ctx)
	case t.held && spent < int64(timeSlice):
		return nil
	case t.held && !t.e.cpu.contended():
		t.used, t.since = t.used+spent, now
		return nil
	}
	t.suspend()
	t.acquire(ctx)
	return nil
}

// Helpers returns slots for goroutines that compute for a long-running request, one for each processor that no other request
// waits for. The last one runs on the request's own slot, because the request waits for its helpers.
func (t *cpuSlot) Helpers(most int) []exec.Helper {
	if t.e == nil || !t.longRunning || !t.held {
		return nil
	}
	var hs []exec.Helper
	for len(hs) < most-1 && t.e.cpu.tryAcquire() {
		now := instant()
		hs = append(hs, &helper{cpuSlot{e: t.e, longRunning: true, held: true, since: now, lastYield: now}, t.q.spend()})
	}
	if hs != nil {
		hs = append(hs, &helper{cpuSlot{e: t.e, lastYield: instant()}, nil})
	}
	return hs
}

// helper is the slot of a goroutine that computes for a request.
type helper struct {
	cpuSlot
	spent *spent // of the request; nil: the goroutine computes while the request, whose clock runs, waits for it
}

// Yield implements exec.Slot.
func (h *helper) Yield(ctx context.Context) error {
	if h.longRunning {
		return h.cpuSlot.Yield(ctx)
	}
	h.gosched(instant())
	return nil
}

// Contended implements exec.Helper.
func (h *helper) Contended() bool { return h.longRunning && h.e.cpu.contended() }

// Release implements exec.Helper.
func (h *helper) Release() {
	if h.spent != nil {
		h.suspendAt(instant())
		h.spent.helpers.Add(h.used)
		h.used = 0
	}
	h.release()
}

// gosched lets other goroutines run if it has not for yieldInterval. It takes the current instant and returns the one
// afterwards.
func (t *cpuSlot) gosched(now int64) int64 {
	if now-t.lastYield >= int64(yieldInterval) {
		runtime.Gosched()
		now = instant()
		t.lastYield = now
	}
	return now
}

// beforeWrite suspends the request before it writes to its client, which may block.
func (t *cpuSlot) beforeWrite() {
	if t.e == nil {
		return
	}
	t.suspend()
	t.q.sending.Store(t.gosched(instant()))
}

// beginPlan sets the plan that the request runs from now on. If the plan is known to be long-running, the request waits for a
// slot at once.
func (t *cpuSlot) beginPlan(ctx context.Context, p *exec.Prepared) error {
	if t.e == nil {
		return nil
	}
	t.plan = p
	if !t.longRunning && p.LongRunning() {
		return t.becomeLongRunning(ctx)
	}
	return nil
}

// becomeLongRunning marks the request as long-running: admission control counts it as such, and it waits for a CPU slot.
func (t *cpuSlot) becomeLongRunning(ctx context.Context) error {
	if t.e == nil || t.longRunning {
		return nil
	}
	t.suspend()
	if err := t.e.gate.readmit(ctx, t.q, true, ""); err != nil {
		return err
	}
	t.longRunning = true
	t.acquire(ctx)
	return nil
}

// moveToGraph counts the request against another graph.
func (t *cpuSlot) moveToGraph(ctx context.Context, graphName string) error {
	if g := t.q.place.graph; g != nil && g.of.graph == graphName {
		return nil
	}
	if err := access.EnterGraph(ctx, graphName); err != nil {
		return err
	}
	t.suspend()
	if err := t.e.gate.readmit(ctx, t.q, t.longRunning, graphName); err != nil {
		return err
	}
	if t.longRunning {
		t.acquire(ctx)
	}
	return nil
}

func (t *cpuSlot) acquire(ctx context.Context) {
	t.held = t.e.cpu.acquire(ctx)
	t.since = instant()
}

// suspend stops computing until the next Yield: the request waits for its client or for a slot.
func (t *cpuSlot) suspend() {
	if t.e == nil {
		return
	}
	if t.since != 0 {
		t.suspendAt(instant())
	}
	t.release()
}

// suspendAt stops the clock at an instant and keeps the slot.
func (t *cpuSlot) suspendAt(now int64) {
	if t.since != 0 {
		t.used, t.since = t.used+now-t.since, 0
	}
}

// compute says that the request computes again, without yielding.
func (t *cpuSlot) compute() {
	if t.e != nil && t.since == 0 {
		t.since = instant()
	}
}

// computed returns how many nanoseconds the request has computed until an instant.
func (t *cpuSlot) computed(now int64) int64 {
	if t.since == 0 {
		return t.used
	}
	return t.used + max(0, now-t.since)
}

// release returns the slot, if the request holds one.
func (t *cpuSlot) release() {
	if t.held {
		t.held = false
		t.e.cpu.release()
	}
}

// end ends the request's use of the cores at an instant. A request that exceeded its budget starts as long-running next
// time, however soon it failed. A request that failed for another reason leaves its plan's class unchanged.
func (t *cpuSlot) end(now time.Time, err error) {
	if t.e == nil {
		return
	}
	at := int64(now.Sub(epoch))
	t.suspendAt(at)
	t.release()
	greedy := err != nil && graph.AsError(err).Kind == graph.KindBudget
	if !t.longRunning && !greedy {
		t.e.cpu.lastShort.Store(at)
	}
	if t.plan != nil {
		if known := t.plan.LongRunning(); !known && greedy {
			t.plan.SetLongRunning(true)
		} else if known && err == nil && t.used < int64(longRunningTime) {
			t.plan.SetLongRunning(false)
		}
	}
	t.e = nil
}
