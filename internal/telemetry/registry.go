package telemetry

import (
	"crypto/tls"
	"math"
	"regexp"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/version"
)

// NewRegistry returns a registry with the metrics of the process, the Go runtime, the build, an engine, its loader and the store, which may
// be nil.
func NewRegistry(e *query.Engine, l *loader.Loader, s Storage) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(process()...)
	r.MustRegister(newEngine(e))
	r.MustRegister(newLoader(l)...)
	if s != nil {
		r.MustRegister(newStorage(s))
	}
	if rs, ok := s.(Replicas); ok {
		r.MustRegister(newReplicas(rs))
	}
	if h, ok := s.(Hedger); ok {
		r.MustRegister(newHedges(h)...)
	}
	return r
}

// Hedger is a Storage that reads from other processes and hedges slow calls.
type Hedger interface {
	// Hedged returns how many calls were sent a second time, and how many of those answered first.
	Hedged() (made, won uint64)
	// LostCalls returns how many calls got no response, by reason.
	LostCalls() map[string]uint64
}

func newHedges(h Hedger) []prometheus.Collector {
	counter := func(name, help string, get func() uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "hopgate_gateway_" + name, Help: help}, func() float64 { return float64(get()) })
	}
	lost := prometheus.NewDesc("hopgate_gateway_lost_calls_total",
		"Calls to shards without a response, by reason. Idempotent ones are retried.", []string{"reason"}, nil)
	return []prometheus.Collector{
		&lostCalls{h, lost},
		counter("hedged_reads_total", "Slow reads of shards sent a second time.", func() uint64 { made, _ := h.Hedged(); return made }),
		counter("hedged_reads_won_total", "Slow reads of shards whose second attempt answered first.", func() uint64 { _, won := h.Hedged(); return won }),
	}
}

// lostCalls publishes a Hedger's calls without a response.
type lostCalls struct {
	h    Hedger
	desc *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (l *lostCalls) Describe(ch chan<- *prometheus.Desc) { ch <- l.desc }

// Collect implements prometheus.Collector.
func (l *lostCalls) Collect(ch chan<- prometheus.Metric) {
	for reason, n := range l.h.LostCalls() {
		ch <- prometheus.MustNewConstMetric(l.desc, prometheus.CounterValue, float64(n), reason)
	}
}

// cpuClasses are the runtime's estimates of CPU time by use.
var cpuClasses = regexp.MustCompile(`^/cpu/classes/(gc/total|user|total):`)

// process returns collectors for every process: its resources, the Go runtime and the build.
func process() []prometheus.Collector {
	return []prometheus.Collector{
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.GoRuntimeMetricsRule{Matcher: cpuClasses})),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewBuildInfoCollector(),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "hopgate_build_info", Help: "1; the labels are the version and the commit of the program.",
			ConstLabels: prometheus.Labels{"version": version.Number, "commit": version.Commit()},
		}, func() float64 { return 1 }),
	}
}

// RegisterCertificate adds the metric of when the certificate of listeners expires, as read last; c is what access.TLS returns, and may be nil.
func RegisterCertificate(r prometheus.Registerer, c *tls.Config) {
	if c == nil {
		return
	}
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "hopgate_tls_certificate_expiry_timestamp_seconds", Help: "When the certificate of the listeners (tls-cert) expires, in Unix time.",
	}, func() float64 {
		now, err := c.GetConfigForClient(nil)
		if err != nil || len(now.Certificates) == 0 || now.Certificates[0].Leaf == nil {
			return math.NaN()
		}
		return float64(now.Certificates[0].Leaf.NotAfter.Unix())
	}))
}
