package feed

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

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
	count int // of the open feeds, and those that are being opened
	feeds map[*Feed]struct{}
}

// New returns the feeds of an engine, which end with drained, and registers their metrics.
func New(drained context.Context, e *query.Engine, registry prometheus.Registerer) *Feeds {
	f := &Feeds{
		e: e, drained: drained, feeds: map[*Feed]struct{}{},
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
	all.feeds[f] = struct{}{}
	all.open.WithLabelValues(f.transport).Inc()
}

func (all *Feeds) leave(f *Feed) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.count--
	if _, ok := all.feeds[f]; ok {
		delete(all.feeds, f)
		all.open.WithLabelValues(f.transport).Dec()
	}
}

func (all *Feeds) sent(transport string, events int) {
	all.events.WithLabelValues(transport).Add(float64(events))
}

// Sweep ends the feeds whose callers have lost their rights. The server calls it several times a second.
func (all *Feeds) Sweep(time.Time) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for f := range all.feeds {
		if err := f.s.Allowed(f.caller); err != nil {
			f.end(err)
		}
	}
}

// lagTime bounds the questions for the ends of logs.
const lagTime = time.Second

// furthest returns how many commits the feed that is furthest behind has not read.
func (all *Feeds) furthest() float64 {
	all.mu.Lock()
	feeds := slices.Collect(maps.Keys(all.feeds))
	all.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), lagTime)
	defer cancel()
	lasts, most := map[string]uint64{}, uint64(0)
	for _, f := range feeds {
		at := f.at.Load() // before the end of the log
		last, ok := lasts[f.name]
		if !ok {
			var err error
			if last, err = f.s.Last(ctx); err != nil {
				continue // the feed meets this error, too
			}
			lasts[f.name] = last
		}
		most = max(most, last-min(at, last))
	}
	return float64(most)
}
