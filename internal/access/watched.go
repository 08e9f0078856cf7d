package access

import (
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// lookAfter is how long what was read from files is taken as it is.
const lookAfter = time.Second

// watched is what was read from files, read again when they have changed. If that fails, what was there before stays.
type watched[T any] struct {
	paths []string
	read  func() (*T, error)
	log   *slog.Logger

	now   atomic.Pointer[T]
	next  atomic.Int64 // when to look at the files, in Unix nanoseconds
	mu    sync.Mutex
	state string // of the files that now was read from, or that could not be read
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

// look describes the files as they are.
func (w *watched[T]) look() string {
	var b strings.Builder
	for _, p := range w.paths {
		// Stat follows the links by which Kubernetes changes all files of a secret at once.
		if i, err := os.Stat(p); err == nil {
			b.WriteString(i.ModTime().Format(time.RFC3339Nano))
			b.WriteString(i.Name())
			b.WriteByte(byte(i.Size()))
		}
		b.WriteByte(0)
	}
	return b.String()
}

// get gives what the files say.
func (w *watched[T]) get() *T {
	if time.Now().UnixNano() < w.next.Load() || !w.mu.TryLock() {
		return w.now.Load()
	}
	defer w.mu.Unlock()
	return w.refresh()
}

// fresh gives what the files say now.
func (w *watched[T]) fresh() *T {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refresh()
}

// refresh reads the files again if they have changed. w.mu is held.
func (w *watched[T]) refresh() *T {
	w.next.Store(time.Now().Add(lookAfter).UnixNano())
	state := w.look()
	if state == w.state {
		return w.now.Load()
	}
	w.state = state
	v, err := w.read()
	if err != nil {
		w.log.Error("files that have changed cannot be read; what they said before stays in force", slog.Any("files", w.paths), slog.Any("error", err))
		return w.now.Load()
	}
	w.log.Info("files read again", slog.Any("files", w.paths))
	w.now.Store(v)
	return v
}
