package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hopgate/hopgate/internal/loader"
)

// newLoader publishes the counters of a loader.
func newLoader(l *loader.Loader) []prometheus.Collector {
	s := l.Stats()
	counter := func(name, help string, get func() float64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "hopgate_load_" + name, Help: help}, get)
	}
	return []prometheus.Collector{
		counter("streams_total", "Loads that were opened.", func() float64 { return float64(s.Loads.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "hopgate_load_streams_running", Help: "Loads that are open."},
			func() float64 { return float64(s.Running.Load()) }),
		counter("batches_total", "Batches applied.", func() float64 { return float64(s.Batches.Load()) }),
		counter("vertices_total", "Vertices written by loads.", func() float64 { return float64(s.Vertices.Load()) }),
		counter("edges_total", "Edges written by loads.", func() float64 { return float64(s.Edges.Load()) }),
		counter("rejected_rows_total", "Rows of loads that were refused.", func() float64 { return float64(s.Rejected.Load()) }),
		counter("failures_total", "Applications of batches that failed.", func() float64 { return float64(s.Failed.Load()) }),
		counter("apply_seconds_total", "Time spent in applying batches.", func() float64 { return float64(s.Nanos.Load()) / 1e9 }),
	}
}
