package remote

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/shard"
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
		placed := newPlacement(shard.Layout{Processes: 2, Replicas: 2}, func(context.Context) []*pb.MembersResponse { return nil })
		defer placed.close()
		r := newRoster(-1, nil, nil, nil)
		s := &seeker{placed: placed, roster: r}
		var all []*connection
		var contacts []*contact
		for _, p := range processes {
			l := bufconn.Listen(1 << 20)
			server := grpc.NewServer(ServerOptions(nil)...)
			pb.RegisterPlaceServiceServer(server, p)
			pb.RegisterLeadServiceServer(server, p)
			(&callServer{map[string]any{pb.LeadService_ServiceDesc.ServiceName: p}}).register(server)
			go func() { _ = server.Serve(l) }()
			defer server.Stop()
			conn, err := dial("passthrough:0", replicaDial([]grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) })})...)
			require.NoError(t, err)
			defer func() { require.NoError(t, conn.Close()) }()
			connection := newMonitored(conn, nil)
			defer connection.heartbeat.close()
			all = append(all, connection)
			contacts = append(contacts, &contact{caller: connection})
		}
		r.known.Store(&contacts)
		lead := pb.NewLeadServiceClient(s)
		answers := func() (name string) {
			require.NoError(t, again(t.Context(), leaderName, func(ctx context.Context) error {
				r, err := lead.Graphs(ctx, &pb.GraphsRequest{})
				if err == nil {
					name = r.GetNames()[0]
				}
				return err
			}))
			return name
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
		require.LessOrEqual(t, time.Since(began), heartbeatEvery+heartbeatWithin+firstPause)
		_, err = pinned.Recv()
		require.ErrorIs(t, err, errSilent)
		s.at.Store(0)
		began = time.Now()
		require.Equal(t, "second", answers(), "the process is known to hang")
		require.LessOrEqual(t, time.Since(began), longestPause)

		resume()
		time.Sleep(heartbeatEvery + heartbeatWithin)
		s.at.Store(0)
		require.Equal(t, "first", answers())
		cancel()
		for _, l := range all {
			l.drop()
		}
	})
}

// A process whose disk completes no write answers no pings.
func TestStalledDisk(t *testing.T) {
	p := &Process{roster: newRoster(0, nil, nil, nil)}
	for stalled, want := range map[time.Duration]codes.Code{0: codes.OK, heartbeatWithin - 1: codes.OK, heartbeatWithin: codes.DeadlineExceeded} {
		_, err := (&placed{p: p, stalled: func() time.Duration { return stalled }}).Place(t.Context(), nil)
		require.Equal(t, want, status.Code(err), "%v", stalled)
	}
}
