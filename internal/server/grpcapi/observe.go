package grpcapi

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// metrics counts calls by method.
type metrics struct {
	monitor *request.Monitor
	calls   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	// By method, looked up once: the counters of OK, and the observers of the duration.
	ok, durations sync.Map
}

func newMetrics(registry prometheus.Registerer, monitor *request.Monitor) *metrics {
	m := &metrics{
		monitor: monitor,
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hopgate_grpc_requests_total", Help: "Completed gRPC calls, by method and status.",
		}, []string{"method", "code"}),
		seconds: request.Seconds("hopgate_grpc_request_duration_seconds", "Duration of gRPC calls, by method.", "method"),
	}
	registry.MustRegister(m.calls, m.seconds)
	return m
}

// unary counts a gRPC call and recovers panics.
func (m *metrics) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (res any, err error) {
	start := time.Now()
	ctx, id := m.named(ctx)
	defer m.call(ctx, info.FullMethod, start, &err)
	_ = grpc.SetHeader(ctx, id) // fails only if the headers have been sent
	return next(m.monitor.Arrived(ctx, start), req)
}

// stream does the same for a streaming call.
func (m *metrics) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	start := time.Now()
	ctx, id := m.named(ss.Context())
	defer m.call(ctx, info.FullMethod, start, &err)
	_ = ss.SetHeader(id) // as above
	return next(srv, identified{ss, m.monitor.Arrived(ctx, start)})
}

// idKey is the metadata key of a request's id.
var idKey = strings.ToLower(request.Header)

// named returns a context with the request's id (and the caller's span if traces are on), and the metadata that return the id to the
// client.
func (m *metrics) named(ctx context.Context) (context.Context, metadata.MD) {
	asked := ""
	if ids := metadata.ValueFromIncomingContext(ctx, idKey); len(ids) > 0 {
		asked = ids[0]
	}
	ctx, id := access.WithRequest(ctx, asked)
	if m.monitor.Tracing() {
		md, _ := metadata.FromIncomingContext(ctx)
		ctx = request.TraceContext(ctx, metadataCarrier{md})
	}
	return ctx, metadata.MD{idKey: {id}}
}

// call is deferred around a call.
func (m *metrics) call(ctx context.Context, method string, start time.Time, err *error) {
	if p := recover(); p != nil {
		*err = wire.GRPCError(m.monitor.Panicked(ctx, method, p))
	}
	code := status.Code(*err)
	m.count(method, code)
	elapsed := time.Since(start)
	if log := m.monitor.Log; log.Enabled(ctx, slog.LevelDebug) {
		log.LogAttrs(ctx, slog.LevelDebug, "request", slog.String("method", method), slog.String("code", code.String()), slog.Duration("elapsed", elapsed))
	}
	m.observe(method, elapsed)
	switch method {
	case pb.AdminService_Top_FullMethodName, pb.AdminService_Trace_FullMethodName, pb.GraphService_Changes_FullMethodName: // these only watch
	default:
		m.monitor.Ended(method, start, elapsed, *err != nil)
	}
}

// count counts a call.
func (m *metrics) count(method string, code codes.Code) {
	if code != codes.OK {
		m.calls.WithLabelValues(method, code.String()).Inc()
		return
	}
	known, ok := m.ok.Load(method)
	if !ok {
		known, _ = m.ok.LoadOrStore(method, m.calls.WithLabelValues(method, code.String()))
	}
	known.(prometheus.Counter).Inc()
}

// observe records how long a call took.
func (m *metrics) observe(method string, elapsed time.Duration) {
	known, ok := m.durations.Load(method)
	if !ok {
		known, _ = m.durations.LoadOrStore(method, m.seconds.WithLabelValues(method))
	}
	known.(prometheus.Observer).Observe(elapsed.Seconds())
}

// metadataCarrier reads a call's metadata.
type metadataCarrier struct{ metadata.MD }

// Get returns the first value of a key.
func (m metadataCarrier) Get(key string) string {
	if values := m.MD.Get(key); len(values) > 0 {
		return values[0]
	}
	return ""
}

// Set sets a value.
func (m metadataCarrier) Set(key, value string) { m.MD.Set(key, value) }

// Keys returns all keys.
func (m metadataCarrier) Keys() []string {
	keys := make([]string, 0, len(m.MD))
	for key := range m.MD {
		keys = append(keys, key)
	}
	return keys
}
