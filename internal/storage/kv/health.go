package kv

import (
	"fmt"
	"log/slog"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
)

// Health says whether a store accepts writes. The first fatal fault ends that.
type Health struct {
	Name string
	Log  *slog.Logger

	failOnce sync.Once
	failed   chan struct{} // closed at the first fault
	Fault    error         // set before failed is closed
}

// Init prepares for a store with a name.
func (h *Health) Init(name string, log *slog.Logger) {
	h.Name, h.Log, h.failed = name, log, make(chan struct{})
}

// Label implements Store.
func (h *Health) Label() string { return h.Name }

// Fail makes the store refuse further writes.
func (h *Health) Fail(err error) {
	if h.refuse(err) {
		h.Log.Error("store failed", slog.String("store", h.Name), slog.Any("error", err))
	}
}

// Leave is Fail for a healthy store that another writer takes over.
func (h *Health) Leave(err error) {
	if h.refuse(err) {
		h.Log.Info("another process writes to the store now", slog.String("store", h.Name), slog.Any("error", err))
	}
}

// refuse reports whether the store accepted writes before.
func (h *Health) refuse(err error) (first bool) {
	h.failOnce.Do(func() {
		first = true
		h.Fault = Unavailable("storage: "+h.Name+" takes no more writes until it is opened again", err)
		close(h.failed)
	})
	return first
}

// Writable implements Store.
func (h *Health) Writable() error {
	select {
	case <-h.failed:
		return h.Fault
	default:
		return nil
	}
}

// LargeFault wraps an error of reading a large value. It names the store and the key, since Pebble (v2.1.7) reports only the number of
// the blob file.
func LargeFault(st Store, key []byte, err error) error {
	op := fmt.Sprintf("read the large value at key %x of %s", key, st.Label())
	if IsDamage(err) {
		return graph.CorruptError("storage: "+op, err)
	}
	return Fault(op, err)
}
