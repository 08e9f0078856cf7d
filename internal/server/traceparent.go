package server

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc/metadata"
)

// traceContext gives a context with the span that a caller's headers name by W3C's Trace Context, if there are any.
func traceContext(ctx context.Context, headers propagation.TextMapCarrier) context.Context {
	return propagation.TraceContext{}.Extract(ctx, headers)
}

// metadataCarrier reads a call's metadata.
type metadataCarrier struct{ metadata.MD }

// Get gives the first value of a key.
func (m metadataCarrier) Get(key string) string {
	if values := m.MD.Get(key); len(values) > 0 {
		return values[0]
	}
	return ""
}

// Set sets a value.
func (m metadataCarrier) Set(key, value string) { m.MD.Set(key, value) }

// Keys gives all keys.
func (m metadataCarrier) Keys() []string {
	keys := make([]string, 0, len(m.MD))
	for key := range m.MD {
		keys = append(keys, key)
	}
	return keys
}
