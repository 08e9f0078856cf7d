package remote

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver/dns"
	"google.golang.org/grpc/status"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
)

// Names of addresses are looked up again soon: a restarted process may have another address. gRPC would wait
// for half a minute.
func init() { dns.SetMinResolutionInterval(findEvery) }

// maxMessage bounds a message between processes, as gRPC does by default. Larger calls travel in frames.
const maxMessage = 4 << 20

// ServerOptions returns the options of a gRPC server for the processes of a cluster, without TLS if m is nil. A process that is
// silent for long counts as dead, which ends its transactions.
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

// dial makes a connection, which is opened when it is first used, and again whenever it fails.
func dial(address string, more ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.NewClient(address, append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage), grpc.WaitForReady(true)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 5 * time.Second, Timeout: 10 * time.Second, PermitWithoutStream: true}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: longestPause},
			MinConnectTimeout: 2 * time.Second,
		}),
		grpc.WithInitialWindowSize(4 << 20), grpc.WithInitialConnWindowSize(16 << 20),
	}, more...)...)
}

// within bounds a request that has no deadline.
func within(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, patience)
}

// change makes a call to the leader that must not be made twice. Without an answer, it is unknown whether it came to
// pass.
func change(ctx context.Context, f func(ctx context.Context) error) error {
	if ctx.Err() != nil {
		return graph.DeadlineError(ctx.Err())
	}
	err := f(ctx)
	if st, ok := status.FromError(err); err == nil || ok && (faultOf(st) != nil || st.Code() == codes.Unimplemented) {
		err, _ = fromStatus(ctx, leaderName, err)
		return err
	}
	return graph.UnknownError("no answer from the leader; the commit may or may not have been applied", err)
}

// once is change for calls that do not take long.
func once(ctx context.Context, f func(ctx context.Context) error) error {
	limited, cancel := within(ctx)
	defer cancel()
	return change(limited, f)
}

// again makes a call that does no harm if it is made twice, until it is answered or ctx ends.
func again(ctx context.Context, who string, f func(ctx context.Context) error) error {
	limited, cancel := within(ctx)
	defer cancel()
	return retry(ctx, limited, who, f)
}

// retry makes a call until it is answered or limited ends, which ctx bounds.
func retry(ctx, limited context.Context, who string, f func(ctx context.Context) error) error {
	for r := new(retries); ; {
		err, lost := fromStatus(ctx, who, f(limited))
		if !lost || limited.Err() != nil {
			return err
		}
		if !r.pause(limited) {
			if ctx.Err() != nil {
				return graph.DeadlineError(ctx.Err())
			}
			return err
		}
	}
}

// Secure returns the options by which a process calls others of its cluster; without m it calls them in plain.
func Secure(m *access.Mutual) []grpc.DialOption {
	if m == nil {
		return nil
	}
	return []grpc.DialOption{grpc.WithTransportCredentials(&following{credentials.NewTLS(m.Client()), m})}
}

// following makes each connection by what the files of certificates say then.
type following struct {
	credentials.TransportCredentials
	m *access.Mutual
}

// ClientHandshake implements credentials.TransportCredentials.
func (f *following) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return credentials.NewTLS(f.m.Client()).ClientHandshake(ctx, authority, conn)
}

// Clone implements credentials.TransportCredentials.
func (f *following) Clone() credentials.TransportCredentials {
	return &following{f.TransportCredentials.Clone(), f.m}
}
