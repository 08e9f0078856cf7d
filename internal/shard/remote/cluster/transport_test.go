package cluster

import (
	"context"
	"log/slog"
	"net"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/replica"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/remote/peers"
)

// blank is the state of a replica that applies nothing.
type blank struct{}

func (blank) Applied() uint64               { return 0 }
func (blank) Apply([]replica.Command) error { return nil }
func (blank) Durable() (uint64, error)      { return 0, nil }
func (blank) Flush()                        {}

// Messages that cannot be decoded, whose group has no replica here, or that a removed process sends, do not keep those after them from their replicas; the answer to the
// stream names the first.
func TestReceiverRefuses(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	store, err := replica.OpenLogStore(replica.LogStoreOptions{Dir: "log", FS: vfs.NewMem()})
	require.NoError(t, err)
	host := replica.NewHost(replica.HostOptions{Store: store, Send: func(uint32, []*replica.Message) {}, Logger: quiet})
	require.NoError(t, host.Start(4, 1, []uint64{1, 2, 3}, blank{}))
	require.NoError(t, host.Admit(t.Context(), 4, 1))
	t.Cleanup(func() { host.Close(); require.NoError(t, store.Close()) })

	p := &Process{layout: shard.Layout{Processes: 3, Replicas: 3}, peers: peers.NewList(peers.Options{})}
	require.NoError(t, p.peers.Learn([]string{"passthrough:a", "passthrough:b", ""}))
	defer func() { require.NoError(t, p.peers.Close()) }()
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(rpc.ServerOptions(nil)...)
	pb.RegisterReplicaServiceServer(server, &replicaService{p: p, host: host, log: quiet})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	conn, err := rpc.Dial("passthrough:///replicas", grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })

	beatOf := func(from, term uint64) []byte {
		b, err := replica.AppendMessage(nil, &replica.Message{Type: raftpb.MsgHeartbeat.Enum(), From: &from, To: new(uint64(1)), Term: &term})
		require.NoError(t, err)
		return b
	}
	beat, removed := beatOf(2, 5), beatOf(3, 7)
	_, changed, err := host.Role(4)
	require.NoError(t, err)
	stream, err := pb.NewReplicaServiceClient(conn).Send(t.Context())
	require.NoError(t, err)
	require.NoError(t, stream.Send(&pb.SendRequest{Store: []byte("0123456789abcdef"), Messages: []*pb.RaftMessage{{Group: 4, Message: []byte{0xff}}, {Group: 9, Message: beat}, {Group: 4, Message: removed}, {Group: 4, Message: beat}}}))
	<-changed
	role, _, err := host.Role(4)
	require.NoError(t, err)
	require.EqualValues(t, 5, role.Term)
	require.EqualValues(t, 2, role.Leader)
	_, err = stream.CloseAndRecv()
	require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
	require.ErrorContains(t, err, "message of group 4")
}
