package server

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/propagation"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
)

// requestHeader is the header and the metadata that carry the id of a request, either way.
const requestHeader = "X-Request-Id"

// Requests counts requests by route and status, and the panics that they ended in.
type Requests struct {
	http, grpc               *prometheus.CounterVec
	httpSeconds, grpcSeconds *prometheus.HistogramVec
	httpBytes                *prometheus.CounterVec
	panics                   prometheus.Counter
	watch                    *query.Watch // that is told of requests; or nil
}

// NewRequests makes the metrics of the listeners' requests and registers them.
func NewRequests(registry prometheus.Registerer) *Requests {
	seconds := func(name, help, label string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: name, Help: help,
			Buckets:                     []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
			NativeHistogramBucketFactor: 1.1,
		}, []string{label})
	}
	q := &Requests{
		http: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hopgate_http_requests_total", Help: "HTTP requests that have ended, by route and status.",
		}, []string{"route", "code"}),
		httpSeconds: seconds("hopgate_http_request_duration_seconds", "Time of HTTP requests, by route.", "route"),
		httpBytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hopgate_http_response_bytes_total", Help: "Bytes of the bodies of HTTP answers, by route.",
		}, []string{"route"}),
		grpc: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hopgate_grpc_requests_total", Help: "gRPC calls that have ended, by method and status.",
		}, []string{"method", "code"}),
		grpcSeconds: seconds("hopgate_grpc_request_duration_seconds", "Time of gRPC calls, by method.", "method"),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hopgate_panics_total", Help: "Requests that ended in a broken invariant of the server.",
		}),
	}
	registry.MustRegister(q.http, q.httpSeconds, q.httpBytes, q.grpc, q.grpcSeconds, q.panics)
	return q
}

// observe counts what f answers and turns a panic into an error, once, here, which failed writes.
func (q *Requests) observe(route string, f http.HandlerFunc, failed func(http.ResponseWriter, error), log *slog.Logger) http.Handler {
	seconds, bytes := q.httpSeconds.WithLabelValues(route), q.httpBytes.WithLabelValues(route)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start, s := time.Now(), &statusWriter{ResponseWriter: w}
		ctx, id := access.WithRequest(r.Context(), r.Header.Get(requestHeader))
		w.Header().Set(requestHeader, id)
		if q.watch.Tracing() {
			ctx = traceContext(ctx, propagation.HeaderCarrier(r.Header))
		}
		r = r.WithContext(q.watch.Arrived(ctx, start))
		defer func() {
			if s.after != nil {
				s.after()
			}
			p := recover()
			if p != nil && p != http.ErrAbortHandler { //nolint:errorlint // net/http compares it so itself
				err := q.panicked(ctx, log, route, p)
				if s.status == 0 {
					failed(s, err)
					p = nil
				} else {
					p = http.ErrAbortHandler // the client must not take half an answer for a whole one
				}
			}
			if s.status == 0 {
				s.status = http.StatusOK
			}
			code := strconv.Itoa(s.status)
			if p != nil {
				code = "aborted"
			}
			q.http.WithLabelValues(route, code).Inc()
			elapsed := time.Since(start)
			seconds.Observe(elapsed.Seconds())
			q.tell(route, start, elapsed, p != nil || s.status >= http.StatusBadRequest)
			bytes.Add(float64(s.bytes))
			if log.Enabled(ctx, slog.LevelDebug) {
				log.LogAttrs(ctx, slog.LevelDebug, "request", slog.String("route", route), slog.String("code", code),
					slog.Duration("elapsed", elapsed), slog.Int64("bytes", s.bytes))
			}
			if p != nil {
				panic(p)
			}
		}()
		f(s, r)
	})
}

// tell tells those who watch of a request to a route.
func (q *Requests) tell(route string, start time.Time, elapsed time.Duration, failed bool) {
	if q.watch.Watched() {
		q.watch.Tell(&query.Ended{Kind: query.RouteKind, Statement: route, Start: start, Elapsed: elapsed, Failed: failed})
	}
}

// panicked counts and logs a panic and gives the error that the client sees.
func (q *Requests) panicked(ctx context.Context, log *slog.Logger, where string, p any) error {
	q.panics.Inc()
	log.ErrorContext(ctx, "panic", slog.String("request", where), slog.Any("value", p), slog.String("stack", string(debug.Stack())))
	return graph.InternalError("the server met a fault of its own; its log says more", nil)
}

// statusWriter remembers the status and the size of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int // 0: nothing is written yet
	bytes  int64
	after  func()          // is called when the request is over; nil: nothing is
	meter  *access.Meter   // counts the bytes; nil: nobody does
	ctx    context.Context // the request's, while meter waits
}

func (s *statusWriter) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}

func (s *statusWriter) Write(p []byte) (int, error) {
	if s.status == 0 {
		s.status = http.StatusOK
	}
	if s.bytes > 0 {
		s.meter.Wait(s.ctx) // what a short answer is too much, the next request waits for
	}
	n, err := s.ResponseWriter.Write(p)
	s.meter.Count(n)
	s.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController find the writer below.
func (s *statusWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }
