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
	if h, ok := s.(Hedger); ok {
		r.MustRegister(newHedges(h)...)
	}
	return r
}

// Hedger is a Storage that reads of other processes, and makes slow calls twice.
type Hedger interface {
	// Hedged gives how many calls were made twice, and how many of them the second one answered.
	Hedged() (made, won uint64)
}

func newHedges(h Hedger) []prometheus.Collector {
	counter := func(name, help string, get func() uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "hopgate_gateway_" + name, Help: help}, func() float64 { return float64(get()) })
	}
	return []prometheus.Collector{
		counter("hedged_reads_total", "Slow reads of shards that were made a second time.", func() uint64 { made, _ := h.Hedged(); return made }),
		counter("hedged_reads_won_total", "Reads of shards of which the second try was answered first.", func() uint64 { _, won := h.Hedged(); return won }),
	}
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
