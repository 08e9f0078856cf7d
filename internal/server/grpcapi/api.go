package grpcapi

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"runtime"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/server/mcpapi"
	"github.com/hopgate/hopgate/internal/server/request"
)

const (
	// maxHeaders bounds the metadata of a call.
	maxHeaders = 64 << 10
	// maxStreams bounds the open calls of a connection; clients wait with further ones.
	maxStreams = 1 << 10
)

// Options are the settings that only gRPC has.
type Options struct {
	Config      []byte // the effective configuration for DebugInfo
	EvidenceDir string // the evidence of memory shortages; default "", none
}

// Transport returns the gRPC API as a transport.
func Transport(opt Options) request.Transport {
	return request.Transport{Name: "grpc", Speaks: "gRPC", New: func(host *request.Host) request.Listener { return newServer(host, opt) }}
}

// server is the gRPC API and its health service.
type server struct {
	*grpc.Server
	l      net.Listener
	health *health.Server
}

// Listen implements request.Listener.
func (s *server) Listen(l net.Listener) { s.l = l }

// Serve implements request.Listener.
func (s *server) Serve() error {
	if err := s.Server.Serve(s.l); !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil
}

// Drain implements request.Listener.
func (s *server) Drain(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		s.GracefulStop()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		s.Stop()
		<-done
	}
}

// newServer returns the API. Calls without an end of their own end when the host drains.
func newServer(host *request.Host, opt Options) *server {
	host.EnsureDefaults()
	e, m, open := host.Engine, newMetrics(host.Registry, host.Monitor), &streams{}
	host.Sweeps = append(host.Sweeps, open.sweep)
	s := &server{health: health.NewServer(), Server: grpc.NewServer(
		grpc.MaxRecvMsgSize(request.SmallBody),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.ConnectionTimeout(10*time.Second),
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxHeaderListSize(maxHeaders), grpc.MaxConcurrentStreams(maxStreams),
		grpc.InitialWindowSize(request.SmallBody), grpc.InitialConnWindowSize(4<<20),
		grpc.ChainUnaryInterceptor(m.unary, authUnary(host)),
		grpc.ChainStreamInterceptor(bounded(e, host), m.stream, authStream(host, open)),
		grpc.NumStreamWorkers(uint32(runtime.GOMAXPROCS(0))), // their stacks have already grown
		grpc.WaitForHandlers(true), grpc.Creds(credentialsOf(host.TLS)),
	)}
	agents := mcpapi.New(e, host.MaxRequestBytes)
	pb.RegisterGraphServiceServer(s, &graphService{e: e, agents: agents, feeds: host.Feeds, idle: host.TxIdle, drained: host.Drained})
	load := &loadService{e: e, l: host.Loader, monitor: host.Monitor, audit: host.Audit}
	pb.RegisterLoadServiceServer(s, load)
	files := debugFiles{opt.Config, host.Registry, opt.EvidenceDir}
	admin := newAdminService(host.Drained, e, host.Store, files, host.Profiles)
	host.Registry.MustRegister(admin.backedUp)
	pb.RegisterAdminServiceServer(s, admin)
	flight.RegisterFlightServiceServer(s.Server, newFlightService(host.Drained, e, load, host.TxIdle))
	for name := range s.GetServiceInfo() {
		s.health.SetServingStatus(name, healthpb.HealthCheckResponse_SERVING)
	}
	context.AfterFunc(host.Drained, s.health.Shutdown)
	healthpb.RegisterHealthServer(s, s.health)
	reflection.Register(s)
	return s
}

// credentialsOf returns the credentials of connections.
func credentialsOf(c *tls.Config) credentials.TransportCredentials {
	if c == nil {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(c)
}
