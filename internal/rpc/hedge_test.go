package rpc

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
)

// stuck answers Step with what it was asked from, but not the calls that hang says hang, which end when they are ended.
type stuck struct {
	pb.UnimplementedReadServiceServer
	hang         func(call int64) bool
	calls, ended atomic.Int64
}

func (s *stuck) Step(ctx context.Context, r *pb.StepRequest) (*pb.StepResponse, error) {
	if s.hang(s.calls.Add(1)) {
		<-ctx.Done()
		s.ended.Add(1)
		return nil, ctx.Err()
	}
	if r.GetDir() == 9 {
		return nil, status.Error(codes.Internal, "no such direction")
	}
	return &pb.StepResponse{To: r.GetFrom()}, nil
}

func newStuck(t testing.TB, hang func(call int64) bool) (*stuck, *HedgeBudget, pb.ReadServiceClient) {
	served, h := newHedged(t, hang)
	return served, h.budget, client(h)
}

func newHedged(t testing.TB, hang func(call int64) bool) (*stuck, *Hedger) {
	l := bufconn.Listen(1 << 20)
	s := grpc.NewServer(ServerOptions(nil)...)
	served := &stuck{hang: hang}
	services.Register(s, map[string]any{pb.ReadService_ServiceDesc.ServiceName: served})
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	var conns [2]*grpc.ClientConn
	for i := range conns {
		var err error
		conns[i], err = Dial("passthrough:x", grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
		require.NoError(t, err)
		t.Cleanup(func() { _ = conns[i].Close() })
	}
	return served, NewHedger(NewConnection(conns[0], services, nil), NewConnection(conns[1], services, nil), &pb.ReadService_ServiceDesc, &HedgeBudget{})
}

// A read that hangs is made again and answered, and then ended; what a shard refuses it refuses once.
func TestHedge(t *testing.T) {
	s, budget, c := newStuck(t, func(call int64) bool { return call == 1000 })
	ctx := t.Context()
	step := func() {
		a, err := c.Step(ctx, &pb.StepRequest{From: []byte("from")})
		require.NoError(t, err)
		require.Equal(t, "from", string(a.GetTo()))
	}
	for s.calls.Load() < 999 {
		step()
	}
	made, won, ended := budget.made.Load(), budget.won.Load(), s.ended.Load()
	step() // hangs
	require.Equal(t, made+1, budget.made.Load())
	require.Equal(t, won+1, budget.won.Load())
	require.Eventually(t, func() bool { return s.ended.Load() == ended+1 }, time.Minute, time.Millisecond)
	_, err := c.Step(ctx, &pb.StepRequest{Dir: 9})
	require.Equal(t, codes.Internal, status.Code(err))
	require.ErrorContains(t, err, "no such direction")
}

// A process that hangs is not asked much more than it would be otherwise.
func TestHedgeBudget(t *testing.T) {
	var hang atomic.Bool
	s, budget, c := newStuck(t, func(int64) bool { return hang.Load() })
	for range 10 * enough {
		_, err := c.Step(t.Context(), &pb.StepRequest{})
		require.NoError(t, err)
	}
	before, made := s.calls.Load(), budget.made.Load()
	hang.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	const n = 400
	for range n {
		calls.Go(func() {
			_, err := c.Step(ctx, &pb.StepRequest{})
			require.Error(t, err)
		})
	}
	allowed := uint64(hedgeSaved + n/hedgeEvery)
	require.Eventually(t, func() bool { return s.calls.Load() >= before+n }, time.Minute, time.Millisecond)
	cancel()
	calls.Wait()
	require.LessOrEqual(t, budget.made.Load()-made, allowed)
	require.LessOrEqual(t, s.calls.Load()-before, int64(n+allowed))
	require.LessOrEqual(t, budget.won.Load(), budget.made.Load())
}

// What is slow is the hundredth part of the calls, and follows them when they change.
func TestLatencies(t *testing.T) {
	var l latencies
	for i := range enough {
		require.Zero(t, l.slow())
		l.observe(time.Duration(i) * time.Microsecond)
	}
	require.Equal(t, hedgeFloor, l.slow())
	for range 64 {
		for range 98 {
			l.observe(time.Millisecond)
		}
		l.observe(40 * time.Millisecond)
		l.observe(40 * time.Millisecond)
	}
	require.InDelta(t, 40, l.slow().Milliseconds(), 10)
	for range 4 * many {
		l.observe(8 * time.Millisecond)
	}
	require.InDelta(t, 8, l.slow().Milliseconds(), 2)
}

// BenchmarkHedge makes reads that are never slow, plainly and by a hedger that knows how long they take.
func BenchmarkHedge(b *testing.B) {
	_, h := newHedged(b, func(int64) bool { return false })
	for _, by := range []struct {
		name string
		c    pb.ReadServiceClient
	}{{"plain", client(h.first)}, {"hedged", client(h)}} {
		b.Run(by.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := by.c.Step(b.Context(), &pb.StepRequest{From: []byte("x")}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(h.budget.made.Load())/float64(b.N), "twice/op")
		})
	}
}
