package gateway

import (
	"context"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard/remote/peers"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

// halting is a process whose answers wait while it is halted.
type halting struct {
	pb.UnimplementedPlaceServiceServer
	pb.UnimplementedLeadServiceServer
	halted atomic.Pointer[chan struct{}]
	name   string
}

func (h *halting) wait() {
	if c := h.halted.Load(); c != nil {
		<-*c
	}
}

func (h *halting) halt() (resume func()) {
	c := make(chan struct{})
	h.halted.Store(&c)
	return func() { h.halted.Store(nil); close(c) }
}

func (h *halting) Place(context.Context, *pb.PlaceRequest) (*pb.PlaceResponse, error) {
	h.wait()
	return &pb.PlaceResponse{}, nil
}

func (h *halting) Graphs(context.Context, *pb.GraphsRequest) (*pb.GraphsResponse, error) {
	h.wait()
	return &pb.GraphsResponse{Names: []string{h.name}}, nil
}

// Begin answers once.
func (h *halting) Begin(_ *pb.BeginRequest, s grpc.ServerStreamingServer[pb.BeginResponse]) error {
	h.wait()
	if err := s.Send(&pb.BeginResponse{}); err != nil {
		return err
	}
	<-s.Context().Done()
	return s.Context().Err()
}

// Calls to a leader that hangs end, those under way and new ones; another process answers them. Once the first one answers pings again, it
// answers calls again.
func TestHungLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		processes := []*halting{{name: "first"}, {name: "second"}}
		listeners := map[string]*bufconn.Listener{}
		for i, p := range processes {
			l := bufconn.Listen(1 << 20)
			listeners[strconv.Itoa(i)] = l
			server := grpc.NewServer(rpc.ServerOptions(nil)...)
			pb.RegisterPlaceServiceServer(server, p)
			pb.RegisterLeadServiceServer(server, p)
			wire.Services.Register(server, map[string]any{pb.LeadService_ServiceDesc.ServiceName: p})
			go func() { _ = server.Serve(l) }()
			defer server.Stop()
		}
		store, err := Open([]string{"passthrough:0", "passthrough:1"}, grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return listeners[address].DialContext(ctx)
		}))
		require.NoError(t, err)
		defer func() { require.NoError(t, store.Close()) }()
		lead := store.lead
		answers := func() (name string) {
			r, err := peers.Call(t.Context(), leaderName, lead.Graphs, &pb.GraphsRequest{})
			require.NoError(t, err)
			return r.GetNames()[0]
		}
		require.Equal(t, "first", answers())
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		pinned, err := lead.Begin(ctx, &pb.BeginRequest{})
		require.NoError(t, err)
		_, err = pinned.Recv()
		require.NoError(t, err)

		resume := processes[0].halt()
		began := time.Now()
		require.Equal(t, "second", answers(), "the call was under way")
		require.LessOrEqual(t, time.Since(began), rpc.HeartbeatInterval+rpc.HeartbeatTimeout+10*time.Millisecond)
		_, err = pinned.Recv()
		require.ErrorContains(t, err, "the process has not answered for 2s")
		store.leader.at.Store(0)
		began = time.Now()
		require.Equal(t, "second", answers(), "the process is known to hang")
		require.LessOrEqual(t, time.Since(began), rpc.LongestPause)

		resume()
		time.Sleep(rpc.HeartbeatInterval + rpc.HeartbeatTimeout)
		store.leader.at.Store(0)
		require.Equal(t, "first", answers())
		cancel()
	})
}
