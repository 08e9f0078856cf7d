package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	promclient "github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/hopgate/hopgate/internal/query"
)

// Collector sends telemetry to an OTLP collector: traces of requests, and metrics once a minute.
type Collector struct {
	traces  *Traces
	metrics *metric.MeterProvider
}

// NewCollector starts sending the traces of an engine and the metrics of a registry to an OTLP collector over gRPC, at a URL such as
// http://localhost:4317. It logs failures.
func NewCollector(ctx context.Context, e *query.Engine, r promclient.Gatherer, url string, log *slog.Logger) (*Collector, error) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Warn("cannot export traces or metrics", slog.Any("error", err))
	}))
	exporter, err := otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithEndpointURL(url))
	if err != nil {
		return nil, fmt.Errorf("otlp-endpoint: %w", err)
	}
	traces, err := NewTraces(ctx, e, url)
	if err != nil {
		return nil, err
	}
	reader := metric.NewPeriodicReader(exporter, metric.WithProducer(prometheus.NewMetricProducer(prometheus.WithGatherer(r))))
	return &Collector{traces, metric.NewMeterProvider(metric.WithReader(reader), metric.WithResource(self()))}, nil
}

// Close sends the last traces and metrics, until ctx ends.
func (c *Collector) Close(ctx context.Context) error {
	return errors.Join(c.traces.Close(ctx), c.metrics.Shutdown(ctx))
}
