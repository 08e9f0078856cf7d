package main_test

import (
	"context"
	"encoding/hex"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	metricscollector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// spans is a collector that keeps what it is sent.
type spans struct {
	collector.UnimplementedTraceServiceServer
	mu  sync.Mutex
	all []*otlp.Span
}

func (s *spans) Export(_ context.Context, req *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range req.GetResourceSpans() {
		for _, scope := range r.GetScopeSpans() {
			s.all = append(s.all, scope.GetSpans()...)
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// A server sends a trace of each request, within the trace of its caller, with stages and operators, and without the values of
// its statement.
func TestTraces(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	kept := &spans{}
	g := grpc.NewServer()
	collector.RegisterTraceServiceServer(g, kept)
	go func() { _ = g.Serve(l) }()
	t.Cleanup(g.Stop)
	s := start(t, t.TempDir(), "--otlp-endpoint", "http://"+l.Addr().String())
	const traceID, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for _, statement := range []string{"UNWIND [1, 2, 3] AS x RETURN sum(x) + 4711", "RETURN 1 +"} {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+s.addrs.HTTP+"/v1/query", strings.NewReader(`{"statement": "`+statement+`"}`))
		require.NoError(t, err)
		req.Header.Set("Traceparent", "00-"+traceID+"-"+parent+"-01")
		req.Header.Set("X-Request-Id", "mine")
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
	}
	require.Zero(t, s.stop(syscall.SIGTERM)) // the last traces are sent then
	kept.mu.Lock()
	defer kept.mu.Unlock()
	var roots []*otlp.Span
	names := map[string]bool{}
	byID := map[string]*otlp.Span{}
	for _, span := range kept.all {
		if hex.EncodeToString(span.GetTraceId()) != traceID {
			continue
		}
		names[span.GetName()] = true
		byID[string(span.GetSpanId())] = span
		if hex.EncodeToString(span.GetParentSpanId()) == parent {
			roots = append(roots, span)
		}
		for _, a := range span.GetAttributes() {
			require.NotContains(t, a.GetValue().GetStringValue(), "4711")
		}
	}
	require.Len(t, roots, 2)
	attributes := map[string]string{}
	for _, a := range roots[0].GetAttributes() {
		attributes[a.GetKey()] = a.GetValue().GetStringValue()
	}
	require.Equal(t, "mine", attributes["hopgate.request"])
	require.Equal(t, "UNWIND [?] AS x RETURN sum(x) + ?", attributes["db.query.text"])
	require.Equal(t, otlp.Status_STATUS_CODE_ERROR, roots[1].GetStatus().GetCode())
	for _, name := range []string{"statement", "decode", "plan", "execute", "Unwind", "Aggregation", "encode"} {
		require.Contains(t, names, name)
	}
	for _, span := range byID {
		require.LessOrEqual(t, span.GetStartTimeUnixNano(), span.GetEndTimeUnixNano())
		if up := byID[string(span.GetParentSpanId())]; up != nil {
			require.GreaterOrEqual(t, span.GetStartTimeUnixNano(), up.GetStartTimeUnixNano())
		}
	}
}

// points is a collector that keeps the metrics that it is sent.
type points struct {
	metricscollector.UnimplementedMetricsServiceServer
	mu  sync.Mutex
	all map[string]*metrics.Metric
}

func (p *points) Export(_ context.Context, req *metricscollector.ExportMetricsServiceRequest) (*metricscollector.ExportMetricsServiceResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range req.GetResourceMetrics() {
		for _, scope := range r.GetScopeMetrics() {
			for _, m := range scope.GetMetrics() {
				p.all[m.GetName()] = m
			}
		}
	}
	return &metricscollector.ExportMetricsServiceResponse{}, nil
}

// A server sends the metrics of its registry, all of them, to the collector that takes its traces.
func TestMetricsPushed(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	kept := &points{all: map[string]*metrics.Metric{}}
	g := grpc.NewServer()
	collector.RegisterTraceServiceServer(g, &spans{})
	metricscollector.RegisterMetricsServiceServer(g, kept)
	go func() { _ = g.Serve(l) }()
	t.Cleanup(g.Stop)
	s := start(t, t.TempDir(), "--otlp-endpoint", "http://"+l.Addr().String())
	res, err := http.Post("http://"+s.addrs.HTTP+"/v1/query", "application/json", strings.NewReader(`{"statement": "RETURN 1"}`))
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	shown := metricLabels(t, s.addrs.Admin)
	require.Zero(t, s.stop(syscall.SIGTERM)) // the last metrics are sent then
	kept.mu.Lock()
	defer kept.mu.Unlock()
	for name := range shown {
		family := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count"), "_sum")
		if !strings.HasPrefix(name, "promhttp_") && kept.all[name] == nil {
			require.Contains(t, kept.all, family, name)
		}
	}
	require.Equal(t, 1.0, kept.all["hopgate_rows_total"].GetSum().GetDataPoints()[0].GetAsDouble())
	require.True(t, kept.all["hopgate_rows_total"].GetSum().GetIsMonotonic())
}
