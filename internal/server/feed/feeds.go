package feed

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hopgate/hopgate/internal/query"
)

// mostFeeds bounds the open feeds of a process, each of which may hold a chunk of a log.
const mostFeeds = 1024

// Feeds opens the feeds of all transports of a server, and counts them.
type Feeds struct {
	e       *query.Engine
	drained context.Context // ends when the server drains

	open   *prometheus.GaugeVec
	events *prometheus.CounterVec

	mu    sync.Mutex
	count int
	lag   map[*Feed]uint64 // by open feed, the commits that it is behind
}

// New returns the feeds of an engine, which end with drained, and registers their metrics.
func New(drained context.Context, e *query.Engine, registry prometheus.Registerer) *Feeds {
	f := &Feeds{
		e: e, drained: drained, lag: map[*Feed]uint64{},
		open: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "hopgate_change_streams", Help: "Open change streams, by transport."}, []string{"transport"}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hopgate_change_events_total", Help: "Events sent by change streams, by transport.",
		}, []string{"transport"}),
	}
	registry.MustRegister(f.open, f.events, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "hopgate_change_lag_commits", Help: "Commits that the change stream furthest behind its graph's log has not read.",
	}, f.furthest))
	return f
}

// enter takes a place among the feeds, if there is one.
func (all *Feeds) enter() bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.count >= mostFeeds {
		return false
	}
	all.count++
	return true
}

// add counts a feed that has been opened.
func (all *Feeds) add(f *Feed) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.lag[f] = 0
	all.open.WithLabelValues(f.transport).Inc()
}

func (all *Feeds) leave(f *Feed) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.count--
	if _, ok := all.lag[f]; ok {
		delete(all.lag, f)
		all.open.WithLabelValues(f.transport).Dec()
	}
}

func (all *Feeds) behind(f *Feed, commits uint64) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.lag[f] = commits
}

func (all *Feeds) sent(transport string, events int) {
	all.events.WithLabelValues(transport).Add(float64(events))
}

func (all *Feeds) furthest() float64 {
	all.mu.Lock()
	defer all.mu.Unlock()
	most := uint64(0)
	for _, n := range all.lag {
		most = max(most, n)
	}
	return float64(most)
}
