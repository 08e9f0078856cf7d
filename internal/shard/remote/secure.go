package remote

import (
	"context"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/hopgate/hopgate/internal/access"
)

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
