package telemetry

import (
	"regexp"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/query"
)

// NewRegistry makes a registry with the metrics of the process, the Go runtime, the build, an engine, its loader and the
// store below, which may be nil.
func NewRegistry(e *query.Engine, l *loader.Loader, s Storage) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(process()...)
	r.MustRegister(newEngine(e))
	r.MustRegister(newLoader(l)...)
	if s != nil {
		r.MustRegister(newStorage(s))
	}
	return r
}

// cpuClasses are the runtime's estimates of what the processors' time went into.
var cpuClasses = regexp.MustCompile(`^/cpu/classes/(gc/total|user|total):`)

// process collects what every process has: its resources, the Go runtime and the build.
func process() []prometheus.Collector {
	return []prometheus.Collector{
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.GoRuntimeMetricsRule{Matcher: cpuClasses})),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewBuildInfoCollector(),
	}
}
