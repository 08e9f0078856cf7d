package peers

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard"
)

// A list grows, its processes keep their numbers, and a removed one is not reached.
func TestList(t *testing.T) {
	changes := 0
	l := NewList(Options{Self: 0, Changed: func([]*Peer) { changes++ }})
	defer func() { require.NoError(t, l.Close()) }()
	require.NoError(t, l.Learn([]string{"passthrough:0", "passthrough:1"}))
	require.False(t, l.At(0).Connected(), "it is this process")
	require.True(t, l.At(1).Connected())
	require.EqualValues(t, 2, l.Changes())
	second := l.At(1)

	require.NoError(t, l.Learn([]string{"other"}), "a shorter list has nothing new")
	require.NoError(t, l.Learn([]string{"passthrough:0", "passthrough:1", "passthrough:2"}))
	require.Same(t, second, l.At(1))
	require.NoError(t, l.Learn([]string{"", ""}))
	require.NoError(t, l.Learn([]string{"passthrough:0", "passthrough:1"}), "a removed process stays removed")
	require.Equal(t, []string{"", "", "passthrough:2"}, l.Addresses())
	require.True(t, l.Removed(1))
	require.False(t, l.Removed(2))
	require.False(t, l.Removed(7))
	require.EqualValues(t, 5, l.Changes())
	require.Equal(t, 3, changes)
	for _, no := range []int{-1, 1, 7} {
		_, err := pb.NewMemberServiceClient(l.At(no).Raw).Members(t.Context(), &pb.MembersRequest{})
		require.Equal(t, codes.Unavailable, status.Code(err))
	}
}

// A process that is avoided is asked last for a time.
func TestAvoid(t *testing.T) {
	var p Peer
	require.False(t, p.Avoided())
	p.Avoid(time.Minute)
	require.True(t, p.Avoided())
	p.Avoid(-time.Minute)
	require.False(t, p.Avoided())
}

// answers answers MemberService.
type answers struct {
	pb.UnimplementedMemberServiceServer
	response *pb.MembersResponse
}

func (a *answers) Members(context.Context, *pb.MembersRequest) (*pb.MembersResponse, error) {
	return a.response, nil
}

// serving returns a list of two processes, the second of which answers.
func serving(t *testing.T, m *answers) *List {
	listener := bufconn.Listen(1 << 16)
	s := grpc.NewServer(rpc.ServerOptions(nil)...)
	pb.RegisterMemberServiceServer(s, m)
	go func() { _ = s.Serve(listener) }()
	l := NewList(Options{Dial: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) })}})
	require.NoError(t, l.Learn([]string{"passthrough:0", "passthrough:1"}))
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		s.Stop()
	})
	return l
}

// An assignment is that of the layout until members name voters, and that of the latest log entry then.
func TestAssignment(t *testing.T) {
	layout := shard.Layout{Processes: 4, Shards: 4, Replicas: 2}
	m := &answers{}
	a := NewAssignment(layout, serving(t, m))
	defer a.Close()
	require.Equal(t, layout.Keepers(2), a.Processes(2))
	require.False(t, a.Single())

	first := layout.Keepers(1)
	require.Equal(t, first[1], a.Next(1, first[0]))
	require.Equal(t, first[0], a.Next(1, first[1]))
	require.Equal(t, first[0], a.Next(1, 99), "one that has none is before the first")

	voters := func(processes ...int) (ids []uint64) {
		for _, p := range processes {
			ids = append(ids, layout.First(p))
		}
		return ids
	}
	a.Learn(1, 10, voters(3, 0))
	a.Learn(1, 9, voters(1, 2))
	require.Equal(t, []int{0, 3}, a.Processes(1), "an earlier entry changes nothing")
	a.Assign(1, []uint32{2})
	require.Equal(t, []int{2}, a.Processes(1))

	m.response = &pb.MembersResponse{
		Layout: &pb.Layout{Processes: 5, Shards: 4, Replicas: 1},
		Members: []*pb.MemberState{
			{Group: 1, Applied: 11, Voters: voters(1, 3)}, {Group: 2, Applied: 20, Voters: voters(0), Waiting: "it has not joined"},
		},
	}
	a.Refresh(t.Context())
	require.True(t, a.Single())
	require.Equal(t, 5, a.Layout().Processes)
	require.Equal(t, []int{1, 3}, a.Processes(1))
	require.Equal(t, a.Layout().Keepers(2), a.Processes(2), "a replica that waits knows no voters")
}
