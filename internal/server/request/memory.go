package request

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/hopgate/hopgate/internal/graph"
)

// SmallBody is the size of a request up to which no memory is reserved for it.
const SmallBody = 64 << 10

// Memory is what large requests share, those of all transports. A nil Memory has no limit.
type Memory struct {
	bytes int64
	wait  time.Duration // how long a request waits for it; 0: no limit
	taken *semaphore.Weighted
}

// NewMemory makes a memory of so many bytes; 0 is no limit.
func NewMemory(bytes int64, wait time.Duration) *Memory {
	if bytes == 0 {
		return nil
	}
	return &Memory{bytes: bytes, wait: wait, taken: semaphore.NewWeighted(bytes)}
}

// growTime is how long a request that has some memory already waits for more: two that wait for each other must not wait long.
const growTime = time.Second

// Growth is the memory of a large request whose size shows only as it comes. One goroutine uses it at a time.
type Growth struct {
	m     *Memory
	bytes int64
}

// Growth begins without memory.
func (m *Memory) Growth() *Growth { return &Growth{m: m} }

// Grow takes memory for a request that is known to have so many bytes, and more, so that it is not asked for often. It takes none for
// a small one. The first time it waits like Acquire.
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

// Release gives the memory back.
func (g *Growth) Release() {
	if g.bytes > 0 {
		g.m.taken.Release(g.bytes)
		g.bytes = 0
	}
}

// Acquire waits for memory for a large request, and returns the function that gives it back.
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
		return nil, graph.Busy(0, "large requests take the memory that is for them, %d bytes; try again later", m.bytes)
	}
	return func() { m.taken.Release(n) }, nil
}
