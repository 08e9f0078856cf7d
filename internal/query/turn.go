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
	// freeTime is how long a request may compute before it counts as costly and has to take turns with the others that do,
	// if it has paused freePauses times: one that has not was rather kept waiting by a busy machine.
	freeTime   = 20 * time.Millisecond
	freePauses = 16
	// yieldTime is how long a request computes before whoever else can goes first, from its second pause on. A processor
	// is given to the next otherwise only after 10 ms, and short requests wait behind each that computes.
	yieldTime = time.Millisecond
	// turnTime is how long a costly request computes before another's turn.
	turnTime = 10 * time.Millisecond
	// spareTime is how long a processor is kept free for short requests after the last one.
	spareTime = time.Second
	// costlyRows is the estimated number of rows of one operator from which on a plan counts as costly before it has run.
	costlyRows = 10_000_000
	// largeText is the number of bytes from which on a text is costly to read, and not kept for later.
	largeText = 64 << 10
)

// epoch is what instants are counted from, in nanoseconds.
var epoch = time.Now()

func instant() int64 { return int64(time.Since(epoch)) }

// turns hands the processors to costly requests, in the order in which they ask: all of them, or all but one while there
// are short requests too, which need not ask.
type turns struct {
	short atomic.Int64 // the instant of the end of the last short request

	mu    sync.Mutex
	taken int
	queue []chan struct{}
}

// room is how many turns there are.
func (t *turns) room() int {
	n := runtime.GOMAXPROCS(0)
	if last := t.short.Load(); n > 1 && last > 0 && instant()-last < int64(spareTime) {
		n--
	}
	return n
}

// take waits for a turn; it reports false if ctx ends before.
func (t *turns) take(ctx context.Context) bool {
	t.mu.Lock()
	if t.taken < t.room() && len(t.queue) == 0 {
		t.taken++
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
	t.taken-- // it came at the last moment
	t.next()
	return false
}

// free takes a turn if there is one that nobody waits for.
func (t *turns) free() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken >= t.room() || len(t.queue) > 0 {
		return false
	}
	t.taken++
	return true
}

// give ends a turn.
func (t *turns) give() {
	t.mu.Lock()
	t.taken--
	t.next()
	t.mu.Unlock()
}

// next lets in those who wait, as far as there is room. t.mu is held.
func (t *turns) next() {
	for n := t.room(); t.taken < n && len(t.queue) > 0; t.taken++ {
		close(t.queue[0])
		t.queue = t.queue[1:]
	}
}

// wanted reports whether whoever has a turn should give it up.
func (t *turns) wanted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.queue) > 0 || t.taken > t.room()
}

// turn is a request's use of the processors. Its zero value never waits. The goroutine that runs the request uses it.
type turn struct {
	e      *Engine
	q      *Running
	plan   *exec.Prepared // that runs
	used   int64          // nanoseconds of computing until mark
	mark   int64          // the instant when computing began; 0: the request does not compute
	yield  int64          // the instant of the last yield
	pauses int
	costly bool
	taken  bool
}

// begin says that the request computes from an instant on.
func (t *turn) begin(e *Engine, q *Running, now int64) {
	t.e, t.q, t.mark, t.yield = e, q, now, now
}

// Yield lets others compute if it is their turn. The context may have ended when it returns.
func (t *turn) Yield(ctx context.Context) error {
	if t.e == nil {
		return nil
	}
	if t.pauses++; t.pauses < 2 && !t.costly && t.mark != 0 {
		return nil
	}
	now := t.letGo(instant())
	if t.mark == 0 {
		t.mark = now
	}
	switch spent := now - t.mark; {
	case !t.costly && (t.used+spent < int64(freeTime) || t.pauses < freePauses):
		return nil
	case !t.costly:
		t.plan.SetLongRunning(true)
		return t.slow(ctx)
	case t.taken && spent < int64(turnTime):
		return nil
	case t.taken && !t.e.turns.wanted():
		t.used, t.mark = t.used+spent, now
		return nil
	}
	t.rest()
	t.take(ctx)
	return nil
}

// Beside gives turns to goroutines that compute for a costly request, as many as there are processors that nobody else
// asks for. The last has the request's own, as that waits for them.
func (t *turn) Beside(most int) []exec.Helper {
	if t.e == nil || !t.costly || !t.taken {
		return nil
	}
	var hs []exec.Helper
	for len(hs) < most-1 && t.e.turns.free() {
		now := instant()
		hs = append(hs, &helper{turn{e: t.e, costly: true, taken: true, mark: now, yield: now}})
	}
	if hs != nil {
		hs = append(hs, &helper{turn{e: t.e, yield: instant()}})
	}
	return hs
}

// helper is the turn of a goroutine that computes for a request.
type helper struct{ turn }

// Yield implements exec.Turn.
func (h *helper) Yield(ctx context.Context) error {
	if h.costly {
		return h.turn.Yield(ctx)
	}
	h.letGo(instant())
	return nil
}

// Wanted implements exec.Helper.
func (h *helper) Wanted() bool { return h.costly && h.e.turns.wanted() }

// End implements exec.Helper.
func (h *helper) End() { h.give() }

// letGo lets others that can compute go first if they have not for yieldTime. now is the present instant; it gives the one
// after that.
func (t *turn) letGo(now int64) int64 {
	if now-t.yield >= int64(yieldTime) {
		runtime.Gosched()
		now = instant()
		t.yield = now
	}
	return now
}

// send says that the request is about to write to its client, for which it may have to wait.
func (t *turn) send() {
	if t.e == nil {
		return
	}
	t.rest()
	t.letGo(instant())
}

// run says which plan the request runs from now on. One that is known to be costly has to ask at once.
func (t *turn) run(ctx context.Context, p *exec.Prepared) error {
	if t.e == nil {
		return nil
	}
	t.plan = p
	if !t.costly && p.LongRunning() {
		return t.slow(ctx)
	}
	return nil
}

// slow makes the request a costly one, which needs a place among those, and a turn.
func (t *turn) slow(ctx context.Context) error {
	if t.e == nil || t.costly {
		return nil
	}
	t.rest()
	if err := t.e.gate.shift(ctx, t.q, true, t.q.place.graph.name); err != nil {
		return err
	}
	t.costly = true
	t.take(ctx)
	return nil
}

// move makes the request one of another graph.
func (t *turn) move(ctx context.Context, graphName string) error {
	if t.q.place.graph.name == graphName {
		return nil
	}
	if err := access.EnterGraph(ctx, graphName); err != nil {
		return err
	}
	t.rest()
	if err := t.e.gate.shift(ctx, t.q, t.costly, graphName); err != nil {
		return err
	}
	if t.costly {
		t.take(ctx)
	}
	return nil
}

func (t *turn) take(ctx context.Context) {
	t.taken = t.e.turns.take(ctx)
	t.mark = instant()
}

// rest says that the request does not compute until the next Pause: it waits for its client, or for a turn.
func (t *turn) rest() {
	if t.e == nil {
		return
	}
	if t.mark != 0 {
		t.restFrom(instant())
	}
	t.give()
}

// restFrom is rest at an instant, but for the turn.
func (t *turn) restFrom(now int64) {
	if t.mark != 0 {
		t.used, t.mark = t.used+now-t.mark, 0
	}
}

// give gives a turn back.
func (t *turn) give() {
	if t.taken {
		t.taken = false
		t.e.turns.give()
	}
}

// end ends the request's use of the processors at an instant. Whoever wanted more than it may have is costly next time,
// however soon that was found; whoever did not come to its end for another reason may still be.
func (t *turn) end(now time.Time, err error) {
	if t.e == nil {
		return
	}
	at := int64(now.Sub(epoch))
	t.restFrom(at)
	t.give()
	greedy := err != nil && graph.AsError(err).Kind == graph.KindBudget
	if !t.costly && !greedy {
		t.e.turns.short.Store(at)
	}
	if t.plan != nil {
		if known := t.plan.LongRunning(); !known && greedy {
			t.plan.SetLongRunning(true)
		} else if known && err == nil && t.used < int64(freeTime) {
			t.plan.SetLongRunning(false)
		}
	}
	t.e = nil
}
