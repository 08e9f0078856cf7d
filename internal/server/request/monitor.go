package request

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/propagation"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
)

// Header is the header and the metadata that carry the id of a request, either way.
const Header = "X-Request-Id"

// Monitor watches the requests of all transports and counts the panics that they end in.
type Monitor struct {
	Log    *slog.Logger
	watch  *query.Watch // or nil
	panics prometheus.Counter
}

// NewMonitor makes a monitor, whose metrics it registers; watch, which may be nil, takes the requests that have ended.
func NewMonitor(registry prometheus.Registerer, watch *query.Watch, log *slog.Logger) *Monitor {
	m := &Monitor{Log: log, watch: watch, panics: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "hopgate_panics_total", Help: "Requests that ended in a broken invariant of the server.",
	})}
	registry.MustRegister(m.panics)
	return m
}

// Seconds makes the histogram of the times of a transport's requests.
func Seconds(name, help, label string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: name, Help: help,
		Buckets:                     []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		NativeHistogramBucketFactor: 1.1,
	}, []string{label})
}

// Tracing reports whether traces are made, so that the context of a request needs its caller's span.
func (m *Monitor) Tracing() bool { return m.watch.Tracing() }

// TraceContext gives a context with the span that a caller's headers name by W3C's Trace Context, if they name one.
func TraceContext(ctx context.Context, headers propagation.TextMapCarrier) context.Context {
	return propagation.TraceContext{}.Extract(ctx, headers)
}

// Arrived gives the context of a request that has arrived.
func (m *Monitor) Arrived(ctx context.Context, start time.Time) context.Context {
	return m.watch.Arrived(ctx, start)
}

// Ended tells those who watch of a request to a route.
func (m *Monitor) Ended(route string, start time.Time, elapsed time.Duration, failed bool) {
	if m.watch.Watched() {
		m.watch.Tell(&query.Ended{Kind: query.RouteKind, Statement: route, Start: start, Elapsed: elapsed, Failed: failed})
	}
}

// Panicked counts and logs a panic and gives the error that the client sees.
func (m *Monitor) Panicked(ctx context.Context, where string, p any) error {
	m.panics.Inc()
	m.Log.ErrorContext(ctx, "panic", slog.String("request", where), slog.Any("value", p), slog.String("stack", string(debug.Stack())))
	return graph.InternalError("the server met a fault of its own; its log says more", nil)
}
