package telemetry

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hopgate/hopgate/internal/replica"
	"github.com/hopgate/hopgate/internal/storage"
)

// NewShardRegistry returns the registry of a process that serves shards and runs no queries.
func NewShardRegistry(s Storage) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(process()...)
	r.MustRegister(newStorage(s))
	if rs, ok := s.(Replicas); ok {
		r.MustRegister(newReplicas(rs))
	}
	return r
}

// Late is a Storage for metrics requests before the store is open; until then it has no metrics.
type Late struct {
	open atomic.Pointer[Storage]
}

// Set sets the storage once it is open.
func (l *Late) Set(s Storage) { l.open.Store(&s) }

// Stats implements Storage.
func (l *Late) Stats() map[string][]storage.Stats {
	if s := l.open.Load(); s != nil {
		return (*s).Stats()
	}
	return nil
}

// Replicas implements Replicas.
func (l *Late) Replicas() map[uint32]replica.GroupStatus {
	if s := l.open.Load(); s != nil {
		if rs, ok := (*s).(Replicas); ok {
			return rs.Replicas()
		}
	}
	return nil
}

// TopologyStats implements Storage.
func (l *Late) TopologyStats() storage.TopologyStats {
	if s := l.open.Load(); s != nil {
		return (*s).TopologyStats()
	}
	return storage.TopologyStats{}
}

// Expired implements Storage.
func (l *Late) Expired() map[string][2]uint64 {
	if s := l.open.Load(); s != nil {
		return (*s).Expired()
	}
	return nil
}

// Logged implements Storage.
func (l *Late) Logged() map[string][2]uint64 {
	if s := l.open.Load(); s != nil {
		return (*s).Logged()
	}
	return nil
}
