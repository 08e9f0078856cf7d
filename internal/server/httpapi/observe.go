package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/propagation"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/quota"
	"github.com/hopgate/hopgate/internal/server/request"
)

// metrics counts requests by route.
type metrics struct {
	requests, bytes *prometheus.CounterVec
	seconds         *prometheus.HistogramVec
}

func newMetrics(registry prometheus.Registerer) metrics {
	m := metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hopgate_http_requests_total", Help: "Completed HTTP requests, by route and status.",
		}, []string{"route", "code"}),
		seconds: request.Seconds("hopgate_http_request_duration_seconds", "Duration of HTTP requests, by route.", "route"),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hopgate_http_response_bytes_total", Help: "Bytes of HTTP response bodies, by route.",
		}, []string{"route"}),
	}
	registry.MustRegister(m.requests, m.seconds, m.bytes)
	return m
}

// observe counts the responses of f and recovers panics, once for all handlers; failed writes the error.
func (h *Handler) observe(route string, f http.HandlerFunc, failed func(http.ResponseWriter, error)) http.Handler {
	seconds, bytes := h.metrics.seconds.WithLabelValues(route), h.metrics.bytes.WithLabelValues(route)
	fine := sync.OnceValue(func() prometheus.Counter { return h.metrics.requests.WithLabelValues(route, "200") })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start, s := time.Now(), &statusWriter{ResponseWriter: w, streamed: r.ProtoMajor > 1}
		ctx, id := access.WithRequest(r.Context(), r.Header.Get(request.Header))
		s.id[0] = id
		w.Header()[request.Header] = s.id[:]
		if h.monitor.Tracing() {
			ctx = request.TraceContext(ctx, propagation.HeaderCarrier(r.Header))
		}
		r = r.WithContext(quota.WithNotice(h.monitor.Arrived(ctx, start), &s.quotas))
		defer func() {
			if s.after != nil {
				s.after()
			}
			p := recover()
			if p != nil && p != http.ErrAbortHandler { //nolint:errorlint // net/http compares it in this way, too
				err := h.monitor.Panicked(ctx, route, p)
				if s.status == 0 {
					failed(s, err)
					p = nil
				} else {
					p = http.ErrAbortHandler // the client must not mistake half a response for a whole one
				}
			}
			if s.status == 0 {
				s.status = http.StatusOK
			}
			code := "200"
			switch {
			case p != nil:
				code = "aborted"
			case s.status != http.StatusOK:
				code = strconv.Itoa(s.status)
			}
			if code == "200" {
				fine().Inc()
			} else {
				h.metrics.requests.WithLabelValues(route, code).Inc()
			}
			elapsed := time.Since(start)
			seconds.Observe(elapsed.Seconds())
			if route != changesRoute { // which only watches
				h.monitor.Ended(route, start, elapsed, p != nil || s.status >= http.StatusBadRequest)
			}
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

// statusWriter records the status and the size of a response.
type statusWriter struct {
	http.ResponseWriter
	status int // 0: nothing written yet
	bytes  int64
	id     [1]string       // the value of the header of the request's id
	after  func()          // called when the request ends; may be nil
	meter  *access.Meter   // counts the bytes; may be nil
	ctx    context.Context // of the request, for waits of meter
	// streamed means that the connection carries other requests too, so that its own pace does not show that this client does not read.
	streamed bool
	quotas   quota.Notice // of the request
}

func (s *statusWriter) WriteHeader(status int) {
	if s.status == 0 {
		s.tellQuotas()
	}
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}

func (s *statusWriter) Write(p []byte) (int, error) {
	if s.status == 0 {
		s.tellQuotas()
		s.status = http.StatusOK
	}
	if s.bytes > 0 {
		s.meter.Wait(s.ctx) // the next request waits for the excess of a short response
	}
	n, err := s.write(p)
	s.meter.Count(n)
	s.bytes += int64(n)
	return n, err
}

// tellQuotas sets the fields that tell what is left of the quotas of the request's caller.
func (s *statusWriter) tellQuotas() {
	if policy, left := s.quotas.Accounts().Fields(); policy != "" {
		s.Header().Set(policyHeader, policy)
		s.Header().Set(leftHeader, left)
	}
}

// The fields of draft-ietf-httpapi-ratelimit-headers.
const (
	policyHeader = "RateLimit-Policy"
	leftHeader   = "RateLimit"
)

// write writes p to a client that takes it within its time, as request.Paced does.
func (s *statusWriter) write(p []byte) (n int, err error) {
	if !s.streamed {
		return s.ResponseWriter.Write(p)
	}
	c := http.NewResponseController(s.ResponseWriter)
	for {
		_ = c.SetWriteDeadline(time.Now().Add(request.WriteTime)) // a writer without a connection needs no deadline
		var m int
		m, err = s.ResponseWriter.Write(p[n:min(n+request.WritePiece, len(p))])
		if n += m; err != nil || n == len(p) {
			return n, err
		}
	}
}

// Unwrap exposes the underlying writer to http.ResponseController.
func (s *statusWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }
