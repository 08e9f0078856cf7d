package telemetry

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/watch"
	"github.com/hopgate/hopgate/internal/version"
)

// Traces sends a trace of each request to a collector: its stages, and the operators of its execution.
type Traces struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	remove   func()
}

// NewTraces starts sending the traces of an engine's requests to an OTLP collector over gRPC, at a URL such as http://localhost:4317. If
// the collector is too slow, traces are dropped.
func NewTraces(ctx context.Context, e *query.Engine, url string) (*Traces, error) {
	exporter, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(url))
	if err != nil {
		return nil, fmt.Errorf("otlp-endpoint: %w", err)
	}
	t := &Traces{provider: sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(self()))}
	t.tracer = t.provider.Tracer("github.com/hopgate/hopgate")
	t.remove = e.Watch().Add(&watch.Watcher{Stages: true, Ended: t.ended})
	return t, nil
}

// self identifies the process to a collector.
func self() *resource.Resource {
	return resource.NewSchemaless(attribute.String("service.name", "hopgate"), attribute.String("service.version", version.Number))
}

// Close sends the remaining traces until ctx ends.
func (t *Traces) Close(ctx context.Context) error {
	t.remove()
	return t.provider.Shutdown(ctx)
}

// ended converts a finished request to spans.
func (t *Traces) ended(r *watch.Ended) {
	if r.Stages == nil { // a route, or a request that began before tracing
		return
	}
	digits, text := watch.Fingerprint(r.Kind, r.Statement)
	ctx, span := t.tracer.Start(r.Context, string(r.Kind), trace.WithTimestamp(r.Start), trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String("db.system.name", "hopgate"), attribute.String("db.namespace", r.Graph), attribute.String("db.query.text", text),
		attribute.String("hopgate.fingerprint", digits), attribute.String("hopgate.request", access.Request(r.Context)), attribute.Int64("hopgate.rows", r.Rows),
	))
	if r.Err != nil {
		failure := graph.AsError(r.Err)
		span.SetStatus(codes.Error, failure.Code)
		span.SetAttributes(attribute.String("error.type", failure.Code))
	}
	if span.IsRecording() {
		at := r.Start
		for _, s := range r.Stages {
			t.stage(ctx, s, at)
			at = at.Add(s.Time)
		}
	}
	span.End(trace.WithTimestamp(r.Start.Add(r.Elapsed)))
}

// stage creates the spans of a stage and of its children. Operators interleave, so their spans start together and last as long as each has
// worked.
func (t *Traces) stage(ctx context.Context, s *watch.Stage, at time.Time) {
	ctx, span := t.tracer.Start(ctx, s.Name, trace.WithTimestamp(at), trace.WithAttributes(
		attribute.Int64("hopgate.rows", s.Rows), attribute.Int64("hopgate.shard_requests", s.Requests), attribute.Int64("hopgate.bytes", s.Bytes),
	))
	for _, below := range s.Stages {
		t.stage(ctx, below, at)
	}
	span.End(trace.WithTimestamp(at.Add(s.Time)))
}
