package grpcapi

import (
	"context"
	"crypto/tls"
	"runtime"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/mcpapi"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/telemetry"
)

const (
	// maxHeaders bounds the metadata of a call.
	maxHeaders = 64 << 10
	// maxStreams bounds the open calls of a connection; clients wait with further ones.
	maxStreams = 1 << 10
)

// Options configure the gRPC API.
type Options struct {
	MaxRequestBytes int64                 // of a message
	Memory          *request.Memory       // shared by large messages; default nil, no limit
	TxIdle          time.Duration         // idle time after which an explicit transaction rolls back
	Config          []byte                // the effective configuration for DebugInfo
	EvidenceDir     string                // the evidence of memory shortages; default "", none
	Profiles        *telemetry.Profiles   // the continuous profiles; default nil, none
	Auth            *access.Authenticator // default nil, no authentication
	Rates           *access.Rates         // default nil, no limits
	Audit           *access.Audit         // records loads and requests of admins; default nil
	TLS             *tls.Config           // default nil, plain connections
	Agents          *mcpapi.Handler       // answers the Model Context Protocol
}

// Server is the gRPC API and its health service.
type Server struct {
	*grpc.Server
	Health  *health.Server
	streams *streams
}

// Sweep ends the streaming calls whose callers have lost their rights or do not read. The server calls it several times a second.
func (s *Server) Sweep(now time.Time) { s.streams.sweep(now) }

// New returns the API of an engine, its loader and the store, which may be nil and only supplies shard statistics. Calls without an end of
// their own end with drained.
func New(
	drained context.Context, e *query.Engine, l *loader.Loader, store telemetry.Storage,
	monitor *request.Monitor, registry *prometheus.Registry, opt Options,
) *Server {
	m := newMetrics(registry, monitor)
	open := &streams{}
	s := &Server{Health: health.NewServer(), streams: open, Server: grpc.NewServer(
		grpc.MaxRecvMsgSize(request.SmallBody),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.ConnectionTimeout(10*time.Second),
		grpc.MaxHeaderListSize(maxHeaders), grpc.MaxConcurrentStreams(maxStreams),
		grpc.InitialWindowSize(request.SmallBody), grpc.InitialConnWindowSize(4<<20),
		grpc.ChainUnaryInterceptor(m.unary, authUnary(&opt)),
		grpc.ChainStreamInterceptor(bounded(e, &opt), m.stream, authStream(&opt, open)),
		grpc.NumStreamWorkers(uint32(runtime.GOMAXPROCS(0))), // their stacks have already grown
		grpc.WaitForHandlers(true), grpc.Creds(transport(opt.TLS)),
	)}
	pb.RegisterGraphServiceServer(s, &graphService{e: e, agents: opt.Agents, idle: opt.TxIdle, drained: drained})
	load := &loadService{e: e, l: l, monitor: monitor, audit: opt.Audit}
	pb.RegisterLoadServiceServer(s, load)
	pb.RegisterAdminServiceServer(s, newAdminService(drained, e, store, debugFiles{opt.Config, registry, opt.EvidenceDir}, opt.Profiles))
	flight.RegisterFlightServiceServer(s.Server, newFlightService(drained, e, load, opt.TxIdle))
	for name := range s.GetServiceInfo() {
		s.Health.SetServingStatus(name, healthpb.HealthCheckResponse_SERVING)
	}
	healthpb.RegisterHealthServer(s, s.Health)
	reflection.Register(s)
	return s
}

// transport returns the credentials of connections.
func transport(c *tls.Config) credentials.TransportCredentials {
	if c == nil {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(c)
}
