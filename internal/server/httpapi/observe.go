package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/propagation"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/server/request"
)

// metrics count requests by route.
type metrics struct {
	requests, bytes *prometheus.CounterVec
	seconds         *prometheus.HistogramVec
}

func newMetrics(registry prometheus.Registerer) metrics {
	m := metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hopgate_http_requests_total", Help: "HTTP requests that have ended, by route and status.",
		}, []string{"route", "code"}),
		seconds: request.Seconds("hopgate_http_request_duration_seconds", "Time of HTTP requests, by route.", "route"),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hopgate_http_response_bytes_total", Help: "Bytes of the bodies of HTTP answers, by route.",
		}, []string{"route"}),
	}
	registry.MustRegister(m.requests, m.seconds, m.bytes)
	return m
}

// observe counts what f answers and turns a panic into an error, once, here, which failed writes.
func (h *Handler) observe(route string, f http.HandlerFunc, failed func(http.ResponseWriter, error)) http.Handler {
	seconds, bytes := h.metrics.seconds.WithLabelValues(route), h.metrics.bytes.WithLabelValues(route)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start, s := time.Now(), &statusWriter{ResponseWriter: w}
		ctx, id := access.WithRequest(r.Context(), r.Header.Get(request.Header))
		w.Header().Set(request.Header, id)
		if h.monitor.Tracing() {
			ctx = request.TraceContext(ctx, propagation.HeaderCarrier(r.Header))
		}
		r = r.WithContext(h.monitor.Arrived(ctx, start))
		defer func() {
			if s.after != nil {
				s.after()
			}
			p := recover()
			if p != nil && p != http.ErrAbortHandler { //nolint:errorlint // net/http compares it so itself
				err := h.monitor.Panicked(ctx, route, p)
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
			h.metrics.requests.WithLabelValues(route, code).Inc()
			elapsed := time.Since(start)
			seconds.Observe(elapsed.Seconds())
			h.monitor.Ended(route, start, elapsed, p != nil || s.status >= http.StatusBadRequest)
			bytes.Add(float64(s.bytes))
			if log := h.monitor.Log; log.Enabled(ctx, slog.LevelDebug) {
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
