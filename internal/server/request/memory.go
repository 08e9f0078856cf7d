package request

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/hopgate/hopgate/internal/graph"
)

// SmallBody is the largest request that needs no reservation of memory.
const SmallBody = 64 << 10

// arrivingShare is the memory of arriving requests, as a multiple of that of complete ones: processing a request takes much more than its bytes.
const arrivingShare = 8

// Memory is the memory that large requests of all transports share. A request that arrives holds what it has received; once it is complete, it
// waits for its share of the memory for processing. So a client that sends slowly holds little, and nothing that others wait for. A nil
// Memory has no limit.
type Memory struct {
	bytes    int64
	wait     time.Duration // how long a request waits; 0: no limit
	taken    *semaphore.Weighted
	arriving arrivals
}

// NewMemory returns a memory of that many bytes; 0 is no limit.
func NewMemory(bytes int64, wait time.Duration) *Memory {
	if bytes == 0 {
		return nil
	}
	return &Memory{
		bytes: bytes, wait: wait, taken: semaphore.NewWeighted(bytes),
		arriving: arrivals{limit: arrivingShare * bytes, callers: map[string]*sender{}, released: make(chan struct{})},
	}
}

// Acquire waits for memory for a complete large request. The caller must call release.
func (m *Memory) Acquire(ctx context.Context, size int64) (release func(), err error) {
	if m == nil {
		return func() {}, nil
	}
	ctx, cancel := m.within(ctx)
	defer cancel()
	n := min(size, m.bytes)
	if m.taken.Acquire(ctx, n) != nil {
		return nil, m.exhausted()
	}
	return func() { m.taken.Release(n) }, nil
}

// within bounds a wait.
func (m *Memory) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if m.wait > 0 {
		return context.WithTimeout(ctx, m.wait)
	}
	return context.WithCancel(ctx)
}

func (m *Memory) exhausted() error {
	return graph.Busy(0, "large requests have used up their memory, %d bytes; try again later", m.bytes)
}
