package request

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/hopgate/hopgate/internal/access"
)

// A large request must arrive at a rate of at least BodyPiece in PieceTime.
const (
	BodyPiece = 64 << 10
	PieceTime = 10 * time.Second
)

// Sender names the sender of a request: its caller or, without authentication, the host that it comes from.
func Sender(ctx context.Context, address string) string {
	if s := access.Of(ctx); s != (access.Subject{}) {
		return s.Issuer + " " + s.Name
	}
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

// arrivals share the memory of arriving requests.
type arrivals struct {
	limit int64

	mu       sync.Mutex
	held     int64
	order    []*Arrival // those with memory, the oldest first
	callers  map[string]*sender
	released chan struct{} // closed and replaced when memory returns
}

// sender is the use of arrivals by one caller, who holds at most half of the memory, but always has room for one request.
type sender struct {
	held     int64
	requests int
}

// Arrival is the memory of a large request that arrives. It is not safe for concurrent use. A nil one has no limit.
type Arrival struct {
	m      *Memory
	sender string
	bytes  int64
}

// Arrive returns an Arrival without memory.
func (m *Memory) Arrive(sender string) *Arrival {
	if m == nil {
		return nil
	}
	return &Arrival{m: m, sender: sender}
}

// Grow waits until the request may hold size bytes. Small requests hold none.
func (a *Arrival) Grow(ctx context.Context, size int64) error {
	if a == nil || size <= SmallBody || size <= a.bytes {
		return nil
	}
	ctx, cancel := a.m.within(ctx)
	defer cancel()
	all := &a.m.arriving
	for {
		released, ok := all.take(a, size-a.bytes)
		if ok {
			return nil
		}
		select {
		case <-released:
		case <-ctx.Done():
			return a.m.exhausted()
		}
	}
}

// take takes more memory for a request, or returns a channel that is closed when there may be some. The oldest request of all always gets
// it: if every request waited for others to end, none would.
func (all *arrivals) take(a *Arrival, more int64) (released chan struct{}, ok bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	s := all.callers[a.sender]
	oldest := len(all.order) == 0 || all.order[0] == a
	alone := s == nil || s.requests == 1 && a.bytes > 0
	if !oldest && (all.held+more > all.limit || !alone && s.held+more > all.limit/2) {
		return all.released, false
	}
	if s == nil {
		s = &sender{}
		all.callers[a.sender] = s
	}
	if a.bytes == 0 {
		s.requests++
		all.order = append(all.order, a)
	}
	a.bytes += more
	s.held += more
	all.held += more
	return nil, true
}

// Complete waits for memory for processing size bytes, and returns the memory of the arrival. The caller must call release.
func (a *Arrival) Complete(ctx context.Context, size int64) (release func(), err error) {
	if a == nil || size <= SmallBody {
		return func() {}, nil
	}
	defer a.Release()
	return a.m.Acquire(ctx, size)
}

// Release returns the memory.
func (a *Arrival) Release() {
	if a == nil || a.bytes == 0 {
		return
	}
	all := &a.m.arriving
	all.mu.Lock()
	defer all.mu.Unlock()
	s := all.callers[a.sender]
	if s.requests--; s.requests == 0 {
		delete(all.callers, a.sender)
	}
	s.held -= a.bytes
	all.held -= a.bytes
	a.bytes = 0
	all.order = slices.DeleteFunc(all.order, func(o *Arrival) bool { return o == a })
	close(all.released)
	all.released = make(chan struct{})
}
