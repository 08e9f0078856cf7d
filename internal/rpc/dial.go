package rpc

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver/dns"

	"github.com/hopgate/hopgate/internal/access"
)

// gRPC looks up host names again after half a minute by default. A restarted process may have another address, so a second must do.
func init() { dns.SetMinResolutionInterval(time.Second) }

// maxMessage bounds a message between processes, as gRPC does by default. Larger calls travel in frames.
const maxMessage = 4 << 20

// ServerOptions returns the options of a gRPC server for the processes of a cluster, without TLS if m is nil. A connection without an answer to
// keepalive pings is closed, which ends the transactions of its process.
func ServerOptions(m *access.Mutual) []grpc.ServerOption {
	creds := insecure.NewCredentials()
	if m != nil {
		creds = credentials.NewTLS(m.Server())
	}
	return []grpc.ServerOption{
		grpc.Creds(creds), grpc.ForceServerCodecV2(frameCodec{}),
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 5 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 2 * time.Second, PermitWithoutStream: true}),
		grpc.InitialWindowSize(4 << 20), grpc.InitialConnWindowSize(16 << 20),
	}
}

// Dial returns a connection, which opens when it is first used, and again whenever it fails.
func Dial(address string, more ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.NewClient(address, append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage), grpc.WaitForReady(true)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 5 * time.Second, Timeout: 10 * time.Second, PermitWithoutStream: true}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: LongestPause},
			MinConnectTimeout: 2 * time.Second,
		}),
		grpc.WithInitialWindowSize(4 << 20), grpc.WithInitialConnWindowSize(16 << 20),
	}, more...)...)
}

// FailFast returns options of connections to a process that others can replace. Calls fail at once without a connection, and within
// HeartbeatTimeout once packets are lost.
func FailFast(more []grpc.DialOption) []grpc.DialOption {
	return append([]grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.WaitForReady(false)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: HeartbeatTimeout, PermitWithoutStream: true}),
	}, more...)
}

// Secure returns the options of connections to processes of the cluster, without TLS if m is nil.
func Secure(m *access.Mutual) []grpc.DialOption {
	if m == nil {
		return nil
	}
	return []grpc.DialOption{grpc.WithTransportCredentials(&reloading{credentials.NewTLS(m.Client()), m})}
}

// reloading reads the files of certificates again for each connection.
type reloading struct {
	credentials.TransportCredentials
	m *access.Mutual
}

// ClientHandshake implements credentials.TransportCredentials.
func (f *reloading) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return credentials.NewTLS(f.m.Client()).ClientHandshake(ctx, authority, conn)
}

// Clone implements credentials.TransportCredentials.
func (f *reloading) Clone() credentials.TransportCredentials {
	return &reloading{f.TransportCredentials.Clone(), f.m}
}
