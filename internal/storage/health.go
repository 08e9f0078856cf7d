package storage

import (
	"fmt"
	"log/slog"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
)

// health reports whether a store takes writes. The first fault that writes cannot survive ends that.
type health struct {
	name string
	log  *slog.Logger

	failOnce sync.Once
	failed   chan struct{} // closed at the first fault
	fault    error         // set before failed is closed
}

func (h *health) init(name string, log *slog.Logger) {
	h.name, h.log, h.failed = name, log, make(chan struct{})
}

// label implements store.
func (h *health) label() string { return h.name }

// fail makes the store refuse writes from now on.
func (h *health) fail(err error) {
	h.failOnce.Do(func() {
		h.fault = unavailable("storage: "+h.name+" takes no more writes until it is opened again", err)
		h.log.Error("store failed", slog.String("store", h.name), slog.Any("error", err))
		close(h.failed)
	})
}

// writable implements store.
func (h *health) writable() error {
	select {
	case <-h.failed:
		return h.fault
	default:
		return nil
	}
}

// largeFault is the fault of reading a large value. Pebble (v2.1.7) gives the number of the blob file alone, so it names
// the store and the key.
func largeFault(st store, key []byte, err error) error {
	op := fmt.Sprintf("read the large value at key %x of %s", key, st.label())
	if isDamage(err) {
		return graph.CorruptError("storage: "+op, err)
	}
	return fault(op, err)
}
