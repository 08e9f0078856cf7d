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
		counter("streams_total", "Opened loads.", func() float64 { return float64(s.Loads.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "hopgate_load_streams_running", Help: "Open loads."},
			func() float64 { return float64(s.Running.Load()) }),
		counter("batches_total", "Batches applied.", func() float64 { return float64(s.Batches.Load()) }),
		counter("vertices_total", "Vertices written by loads.", func() float64 { return float64(s.Vertices.Applied()) }),
		counter("edges_total", "Edges written by loads.", func() float64 { return float64(s.Edges.Applied()) }),
		counter("rejected_rows_total", "Refused rows of loads.", func() float64 { return float64(s.Rejected.Load()) }),
		counter("failures_total", "Failed attempts to apply batches.", func() float64 { return float64(s.Failed.Load()) }),
		counter("apply_seconds_total", "Time spent in applying batches.", func() float64 { return float64(s.Nanos.Load()) / 1e9 }),
	}
}
