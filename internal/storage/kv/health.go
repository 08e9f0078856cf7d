package kv

import (
	"fmt"
	"log/slog"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
)

// Health reports whether a store takes writes. The first fault that writes cannot survive ends that.
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

// Fail makes the store refuse writes from now on.
func (h *Health) Fail(err error) {
	if h.refuse(err) {
		h.Log.Error("store failed", slog.String("store", h.Name), slog.Any("error", err))
	}
}

// Leave is Fail for a store that another writer has taken over, or will: nothing is wrong with it.
func (h *Health) Leave(err error) {
	if h.refuse(err) {
		h.Log.Info("the store takes no more writes of this process", slog.String("store", h.Name), slog.Any("error", err))
	}
}

// refuse reports whether the store took writes before.
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

// LargeFault is the fault of reading a large value. Pebble (v2.1.7) reports the number of the blob file alone, so it names
// the store and the key.
func LargeFault(st Store, key []byte, err error) error {
	op := fmt.Sprintf("read the large value at key %x of %s", key, st.Label())
	if IsDamage(err) {
		return graph.CorruptError("storage: "+op, err)
	}
	return Fault(op, err)
}
