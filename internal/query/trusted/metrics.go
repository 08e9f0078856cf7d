package trusted

import (
	"sync"
	"sync/atomic"
	"time"
)

// latencyBounds are the upper bounds of the classes of Latency, in seconds.
var latencyBounds = [...]float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// LatencyBounds are the upper bounds of the classes of Latency, in seconds.
func LatencyBounds() []float64 { return latencyBounds[:] }

// Latency counts requests by LatencyBounds, the last class being above all.
type Latency struct {
	Classes [len(latencyBounds) + 1]atomic.Uint64
	Sum     atomic.Uint64 // nanoseconds
}

// Observe counts a request.
func (l *Latency) Observe(d time.Duration) {
	i := 0
	for s := d.Seconds(); i < len(latencyBounds) && s > latencyBounds[i]; i++ {
	}
	l.Classes[i].Add(1)
	l.Sum.Add(uint64(d))
}

// Metrics are the metrics of operations that have been called. The zero value is ready.
type Metrics struct{ all sync.Map } // *Called by key

type key struct{ graph, name string }

// Called is the metrics of an operation.
type Called struct {
	Graph, Name string
	Latency     Latency
	Errors      atomic.Uint64
}

// Observe counts a call of an operation.
func (m *Metrics) Observe(graphName, name string, d time.Duration, err error) {
	k := key{graphName, name}
	v, ok := m.all.Load(k)
	if !ok {
		v, _ = m.all.LoadOrStore(k, &Called{Graph: graphName, Name: name})
	}
	o := v.(*Called)
	o.Latency.Observe(d)
	if err != nil {
		o.Errors.Add(1)
	}
}

// Called returns the metrics of the operations that have been called, and drops those of which gone tells that they are not there any more.
func (m *Metrics) Called(gone func(graphName, name string) bool) (all []*Called) {
	for k, v := range m.all.Range {
		if k := k.(key); gone(k.graph, k.name) {
			m.all.Delete(k)
			continue
		}
		all = append(all, v.(*Called))
	}
	return all
}
