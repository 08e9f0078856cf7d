package local_test

import (
	"context"
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/remote"
	"github.com/hopgate/hopgate/internal/storage"
)

func init() { local.Cluster = cluster }

// cluster connects the processes of a cluster within this one.
func cluster(t *testing.T, parts []*local.Parts) (storage.Peers, func(*local.Store) (shard.Store, func())) {
	listeners := make([]*bufconn.Listener, len(parts))
	addresses := make([]string, len(parts))
	for no := range parts {
		listeners[no] = bufconn.Listen(1 << 20)
		addresses[no] = "passthrough:" + strconv.Itoa(no)
	}
	serve := func(no int, register func(s *grpc.Server)) {
		s := grpc.NewServer(remote.ServerOptions(nil)...)
		register(s)
		go func() { _ = s.Serve(listeners[no]) }()
		t.Cleanup(s.Stop)
	}
	for no := 1; no < len(parts); no++ {
		serve(no, func(s *grpc.Server) { remote.ServeParts(s, parts[no]) })
	}
	dialer := grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
		no, err := strconv.Atoi(address)
		if err != nil {
			return nil, err
		}
		return listeners[no].DialContext(ctx)
	})
	peers, err := remote.NewPeers(addresses, dialer)
	require.NoError(t, err)
	t.Cleanup(func() { _ = peers.Close() })
	return peers, func(store *local.Store) (shard.Store, func()) {
		serve(0, func(s *grpc.Server) { remote.ServeLeader(s, store, peers) })
		gateway, err := remote.Open(addresses, dialer)
		require.NoError(t, err)
		return gateway, func() { require.NoError(t, gateway.Close()) }
	}
}
