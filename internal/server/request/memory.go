package request

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/hopgate/hopgate/internal/query"
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
		return nil, query.Busy("large requests take the memory that is for them, %d bytes; try again later", m.bytes)
	}
	return func() { m.taken.Release(n) }, nil
}
