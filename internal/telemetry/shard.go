package telemetry

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hopgate/hopgate/internal/storage"
)

// NewShardRegistry makes the registry of a process that keeps shards and runs no queries.
func NewShardRegistry(s Storage) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(process()...)
	r.MustRegister(newStorage(s))
	return r
}

// Late is a Storage that opens after its metrics can be asked for; until then it has none.
type Late struct {
	open atomic.Pointer[Storage]
}

// Set makes a storage the one that is asked.
func (l *Late) Set(s Storage) { l.open.Store(&s) }

// Stats implements Storage.
func (l *Late) Stats() map[string][]storage.Stats {
	if s := l.open.Load(); s != nil {
		return (*s).Stats()
	}
	return nil
}

// DecodedStats implements Storage.
func (l *Late) DecodedStats() storage.DecodedStats {
	if s := l.open.Load(); s != nil {
		return (*s).DecodedStats()
	}
	return storage.DecodedStats{}
}

// Expired implements Storage.
func (l *Late) Expired() map[string][2]uint64 {
	if s := l.open.Load(); s != nil {
		return (*s).Expired()
	}
	return nil
}
