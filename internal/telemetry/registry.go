package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/query"
)

// NewRegistry makes a registry with the metrics of the process, the Go runtime, the build, an engine, its loader and the
// store below, which may be nil.
func NewRegistry(e *query.Engine, l *loader.Loader, s Storage) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewBuildInfoCollector(),
		newEngine(e),
	)
	r.MustRegister(newLoader(l)...)
	if s != nil {
		r.MustRegister(newStorage(s))
	}
	return r
}
