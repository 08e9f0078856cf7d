package gateway

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/remote/peers"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

// mute is a leader that takes calls and never answers.
type mute struct {
	pb.UnimplementedLeadServiceServer
}

func (mute) Begin(_ *pb.BeginRequest, s grpc.ServerStreamingServer[pb.BeginResponse]) error {
	<-s.Context().Done()
	return s.Context().Err()
}

func (mute) Renew(ctx context.Context, _ *pb.RenewRequest) (*pb.RenewResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A leader that does not answer is unavailable, whatever is asked of it: a request runs out of time only if it has a
// deadline.
func TestSilentLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := bufconn.Listen(1 << 20)
		s := grpc.NewServer(rpc.ServerOptions(nil)...)
		pb.RegisterLeadServiceServer(s, mute{})
		wire.Services.Register(s, map[string]any{pb.LeadService_ServiceDesc.ServiceName: mute{}})
		go func() { _ = s.Serve(l) }()
		defer s.Stop()
		store, err := Open([]string{"passthrough:0"}, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
		require.NoError(t, err)
		defer func() { require.NoError(t, store.Close()) }()
		g := &Graph{s: store, name: "g", shards: 1, reads: store.reads, hints: newHints()}
		learnt(t, g, &pb.Catalog{State: &pb.State{Epoch: 1}}, nil)
		begin := func(ctx context.Context) error {
			_, err := g.Begin(ctx, shard.Read)
			return err
		}
		check := func(ctx context.Context) error {
			g.share(&lease{id: 1, snap: 1, names: g.state.Load(), counts: &graph.Counts{}, stop: func() {}})
			tx, err := g.Begin(ctx, shard.Read)
			require.NoError(t, err)
			defer tx.Rollback()
			return tx.Features().Validator.Check(ctx)
		}
		for name, f := range map[string]func(ctx context.Context) error{"begin": begin, "check": check} {
			began := time.Now()
			require.Equal(t, graph.KindUnavailable, graph.AsError(f(t.Context())).Kind, name)
			require.Equal(t, peers.Patience, time.Since(began), name)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			require.Equal(t, graph.KindDeadline, graph.AsError(f(ctx)).Kind, name)
			cancel()
		}
	})
}
