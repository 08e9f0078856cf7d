package loader

import (
	"context"
	"sync"
)

// window bounds the bytes in flight.
type window struct {
	mu    sync.Mutex
	free  int64
	size  int64
	given chan struct{} // holds an element when bytes have been returned
}

func newWindow(size int64) *window {
	return &window{free: size, size: size, given: make(chan struct{}, 1)}
}

// take waits until n bytes are free or, if the window is smaller, until it is empty. One goroutine calls it.
func (w *window) take(ctx context.Context, n int64) error {
	for {
		w.mu.Lock()
		if w.free >= n || w.free == w.size {
			w.free -= n
			w.mu.Unlock()
			return nil
		}
		w.mu.Unlock()
		select {
		case <-w.given:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// more takes n bytes without waiting.
func (w *window) more(n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.free -= n
}

// taken returns the number of bytes in flight.
func (w *window) taken() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.size - w.free
}

func (w *window) release(n int64) {
	w.mu.Lock()
	w.free += n
	w.mu.Unlock()
	select {
	case w.given <- struct{}{}:
	default:
	}
}
