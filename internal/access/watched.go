package access

import (
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// lookAfter is the interval between checks of files for changes.
const lookAfter = time.Second / 2

// watched is a value read from files, which it reloads when they change. If that fails, the previous value stays in effect.
type watched[T any] struct {
	paths []string
	read  func() (*T, error)
	log   *slog.Logger

	now   atomic.Pointer[T]
	next  atomic.Int64 // time of the next check, in Unix nanoseconds
	mu    sync.Mutex
	state string // of the files when read last, successfully or not
}

func watch[T any](log *slog.Logger, read func() (*T, error), paths ...string) (*watched[T], error) {
	w := &watched[T]{paths: paths, read: read, log: log}
	w.state = w.look()
	v, err := read()
	if err != nil {
		return nil, err
	}
	w.now.Store(v)
	w.next.Store(time.Now().Add(lookAfter).UnixNano())
	return w, nil
}

// look describes the current state of the files.
func (w *watched[T]) look() string {
	var b strings.Builder
	for _, p := range w.paths {
		// Stat follows the links that Kubernetes swaps to change all files of a secret at once.
		if i, err := os.Stat(p); err == nil {
			b.WriteString(i.ModTime().Format(time.RFC3339Nano))
			b.WriteString(i.Name())
			b.WriteByte(byte(i.Size()))
		}
		b.WriteByte(0)
	}
	return b.String()
}

// get returns the value, at most lookAfter old.
func (w *watched[T]) get() *T {
	if time.Now().UnixNano() < w.next.Load() || !w.mu.TryLock() {
		return w.now.Load()
	}
	defer w.mu.Unlock()
	return w.refresh()
}

// latest checks the files and returns the current value.
func (w *watched[T]) latest() *T {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refresh()
}

// refresh reloads the files if they have changed. w.mu is held.
func (w *watched[T]) refresh() *T {
	w.next.Store(time.Now().Add(lookAfter).UnixNano())
	state := w.look()
	if state == w.state {
		return w.now.Load()
	}
	w.state = state
	v, err := w.read()
	if err != nil {
		w.log.Error("changed files cannot be read; the previous content stays in effect", slog.Any("files", w.paths), slog.Any("error", err))
		return w.now.Load()
	}
	w.log.Info("files reloaded", slog.Any("files", w.paths))
	w.now.Store(v)
	return v
}
