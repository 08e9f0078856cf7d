package request

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/hopgate/hopgate/internal/graph"
)

// SmallBody is the largest request that needs no reservation of memory.
const SmallBody = 64 << 10

// Memory is the memory that large requests of all transports share. A nil Memory has no limit.
type Memory struct {
	bytes int64
	wait  time.Duration // how long a request waits; 0: no limit
	taken *semaphore.Weighted
}

// NewMemory returns a memory of that many bytes; 0 is no limit.
func NewMemory(bytes int64, wait time.Duration) *Memory {
	if bytes == 0 {
		return nil
	}
	return &Memory{bytes: bytes, wait: wait, taken: semaphore.NewWeighted(bytes)}
}

// growTime bounds how long a request that already has memory waits for more: two such requests may wait for each other.
const growTime = time.Second

// Growth is the memory of a large request of unknown size. It is not safe for concurrent use.
type Growth struct {
	m     *Memory
	bytes int64
}

// Growth returns a Growth without memory.
func (m *Memory) Growth() *Growth { return &Growth{m: m} }

// Grow reserves memory for a request of at least size bytes, with some to spare so that calls are rare. Small requests reserve none. The
// first reservation waits like Acquire.
func (g *Growth) Grow(ctx context.Context, size int64) error {
	if g.m == nil || size <= SmallBody || size <= g.bytes || g.bytes == g.m.bytes {
		return nil
	}
	if g.bytes > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, growTime)
		defer cancel()
	}
	more := min(2*size, g.m.bytes) - g.bytes
	if _, err := g.m.Acquire(ctx, more); err != nil {
		return err
	}
	g.bytes += more
	return nil
}

// Release returns the memory.
func (g *Growth) Release() {
	if g.bytes > 0 {
		g.m.taken.Release(g.bytes)
		g.bytes = 0
	}
}

// Acquire waits for memory for a large request. The caller must call release.
func (m *Memory) Acquire(ctx context.Context, size int64) (release func(), err error) {
	if m == nil {
		return func() {}, nil
	}
	if m.wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, m.wait)
		defer cancel()
	}
	n := min(size, m.bytes)
	if m.taken.Acquire(ctx, n) != nil {
		return nil, graph.Busy(0, "large requests use all of their memory, %d bytes; try again later", m.bytes)
	}
	return func() { m.taken.Release(n) }, nil
}
