package request

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/propagation"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/watch"
)

// Header is the header, or metadata key, that carries the id of a request in both directions.
const Header = "X-Request-Id"

// Monitor observes the requests of all transports and counts their panics.
type Monitor struct {
	Log    *slog.Logger
	watch  *watch.Watch // or nil
	panics prometheus.Counter
}

// NewMonitor returns a monitor and registers its metrics; watch, which may be nil, receives requests as they end.
func NewMonitor(registry prometheus.Registerer, watch *watch.Watch, log *slog.Logger) *Monitor {
	m := &Monitor{Log: log, watch: watch, panics: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "hopgate_panics_total", Help: "Requests that ended in a panic.",
	})}
	registry.MustRegister(m.panics)
	return m
}

// Seconds returns the histogram of a transport's request times.
func Seconds(name, help, label string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: name, Help: help,
		Buckets:                     []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		NativeHistogramBucketFactor: 1.1,
	}, []string{label})
}

// Tracing reports whether traces are on, so that a request's context needs the caller's span.
func (m *Monitor) Tracing() bool { return m.watch.Tracing() }

// TraceContext adds the span in a caller's W3C Trace Context headers, if any, to ctx.
func TraceContext(ctx context.Context, headers propagation.TextMapCarrier) context.Context {
	return propagation.TraceContext{}.Extract(ctx, headers)
}

// Arrived returns the context of a request that has arrived.
func (m *Monitor) Arrived(ctx context.Context, start time.Time) context.Context {
	return m.watch.Arrived(ctx, start)
}

// Ended notifies watchers of a request to a route.
func (m *Monitor) Ended(route string, start time.Time, elapsed time.Duration, failed bool) {
	if m.watch.Watched() {
		m.watch.Notify(&watch.Ended{Kind: watch.RouteKind, Statement: route, Start: start, Elapsed: elapsed, Failed: failed})
	}
}

// Panicked counts and logs a panic, and returns the error for the client.
func (m *Monitor) Panicked(ctx context.Context, where string, p any) error {
	m.panics.Inc()
	m.Log.ErrorContext(ctx, "panic", slog.String("request", where), slog.Any("value", p), slog.String("stack", string(debug.Stack())))
	return graph.InternalError("internal error; the server's log has details", nil)
}
