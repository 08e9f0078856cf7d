package grpcapi

import (
	"context"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/hopgate/hopgate/internal/server/request"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A panic of a call is counted and is an error with a code.
func TestPanic(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := newMetrics(registry, request.NewMonitor(registry, nil, slog.New(slog.DiscardHandler)))
	err := m.stream(nil, headless{}, &grpc.StreamServerInfo{FullMethod: "m"}, func(any, grpc.ServerStream) error { panic("stream") })
	require.Equal(t, codes.Internal, status.Code(err))
	metrics, err := registry.Gather()
	require.NoError(t, err)
	for _, m := range metrics {
		if m.GetName() == "hopgate_panics_total" {
			require.InDelta(t, 1, m.GetMetric()[0].GetCounter().GetValue(), 0)
			return
		}
	}
	t.Fatal("panics are not counted")
}

// headless is a stream that takes no header.
type headless struct{ grpc.ServerStream }

func (headless) Context() context.Context    { return context.Background() }
func (headless) SetHeader(metadata.MD) error { return nil }
