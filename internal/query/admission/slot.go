package admission

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// yieldInterval is how long a request computes between two calls of runtime.Gosched, from its second yield on. Without
	// them, the Go scheduler preempts after 10 ms, and short requests wait that long behind each request that computes.
	yieldInterval = time.Millisecond
	// timeSlice is how long a long-running request keeps its slot while others wait for one.
	timeSlice = 10 * time.Millisecond
	// reserveTime is how long one processor stays reserved for short requests after the last of them.
	reserveTime = time.Second
)

// slots assigns cores to long-running requests in the order of their arrival: all of them, or all but one while short
// requests arrive. Short requests need no slot.
type slots struct {
	lastShort atomic.Int64 // the instant of the end of the last short request

	mu    sync.Mutex
	held  int
	queue []chan struct{}
}

// capacity returns the number of slots.
func (t *slots) capacity() int {
	n := runtime.GOMAXPROCS(0)
	if last := t.lastShort.Load(); n > 1 && last > 0 && Now()-last < int64(reserveTime) {
		n--
	}
	return n
}

// acquire waits for a slot. It returns false if ctx ends first.
func (t *slots) acquire(ctx context.Context) bool {
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
func (t *slots) tryAcquire() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held >= t.capacity() || len(t.queue) > 0 {
		return false
	}
	t.held++
	return true
}

// release returns a slot.
func (t *slots) release() {
	t.mu.Lock()
	t.held--
	t.admit()
	t.mu.Unlock()
}

// admit grants free slots to waiting requests. The caller holds t.mu.
func (t *slots) admit() {
	for n := t.capacity(); t.held < n && len(t.queue) > 0; t.held++ {
		close(t.queue[0])
		t.queue = t.queue[1:]
	}
}

// count returns how many slots are held.
func (t *slots) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.held
}

// contended reports whether a holder should release its slot.
func (t *slots) contended() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.queue) > 0 || t.held > t.capacity()
}

// slot is the use of the cores by one goroutine, which alone uses it.
type slot struct {
	gate        *Gate
	used        int64 // nanoseconds of computing before since
	since       int64 // the instant at which computing began; 0: it does not compute
	lastYield   int64 // the instant of the last yield
	yields      int32
	begun       bool // and has not ended
	longRunning bool
	held        bool
}

// begin starts computing at an instant.
func (s *slot) begin(g *Gate, now int64) {
	s.gate, s.begun, s.since, s.lastYield = g, true, now, now
}

// computing lets other goroutines run, says that this one computes, and returns the instant.
func (s *slot) computing() int64 {
	now := s.gosched(Now())
	if s.since == 0 {
		s.since = now
	}
	return now
}

// yield lets others compute if the time slice of a long-running request is over.
func (s *slot) yield(ctx context.Context) {
	switch now := s.computing(); {
	case s.held && now-s.since < int64(timeSlice):
	case s.held && !s.gate.cpu.contended():
		s.used, s.since = s.used+now-s.since, now
	default:
		s.suspend()
		s.acquire(ctx)
	}
}

// gosched lets other goroutines run if it has not for yieldInterval. It takes the current instant and returns the one
// afterwards.
func (s *slot) gosched(now int64) int64 {
	if now-s.lastYield >= int64(yieldInterval) {
		runtime.Gosched()
		now = Now()
		s.lastYield = now
	}
	return now
}

func (s *slot) acquire(ctx context.Context) {
	s.held = s.gate.cpu.acquire(ctx)
	s.since = Now()
}

// suspend stops computing and returns the slot.
func (s *slot) suspend() {
	if !s.begun {
		return
	}
	if s.since != 0 {
		s.suspendAt(Now())
	}
	s.release()
}

// suspendAt stops the clock at an instant and keeps the slot.
func (s *slot) suspendAt(now int64) {
	if s.since != 0 {
		s.used, s.since = s.used+now-s.since, 0
	}
}

// computed returns how many nanoseconds it has computed until an instant.
func (s *slot) computed(now int64) int64 {
	if s.since == 0 {
		return s.used
	}
	return s.used + max(0, now-s.since)
}

// release returns the slot, if it is held.
func (s *slot) release() {
	if s.held {
		s.held = false
		s.gate.cpu.release()
	}
}
