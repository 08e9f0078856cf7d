package rpc

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
)

var services = NewServices("test.ConnectionService", &pb.ReadService_ServiceDesc)

// client returns a client for the calls of a Caller.
func client(c Caller) pb.ReadServiceClient { return pb.NewReadServiceClient(unaryConn{c}) }

// unaryConn implements grpc.ClientConnInterface for unary calls.
type unaryConn struct{ Caller }

func (c unaryConn) Invoke(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	return Invoke(ctx, c, method, args, reply)
}

func (unaryConn) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "no streams")
}

// wired is a process at the end of a connection. It answers a Step with what it leads from, or an error if it pulls, a
// Large call by waiting for its context, and LabelSets by an error.
type wired struct {
	pb.UnimplementedReadServiceServer
	began, ended chan context.Context
	calls        atomic.Int64
	streams      atomic.Int64
	largest      atomic.Int64 // message
}

func (w *wired) Step(ctx context.Context, r *pb.StepRequest) (*pb.StepResponse, error) {
	w.calls.Add(1)
	if r.GetPull() {
		return nil, status.Error(codes.FailedPrecondition, "not yet")
	}
	return &pb.StepResponse{To: r.GetFrom()}, nil
}

func (w *wired) Batch(ctx context.Context, r *pb.BatchRequest) (*pb.BatchResponse, error) {
	answers, err := services.AnswerEach(ctx, w, "/"+pb.ReadService_ServiceDesc.ServiceName+"/"+r.GetMethod(), r.GetRequests())
	out := &pb.BatchResponse{}
	for _, a := range answers {
		out.Answers = append(out.Answers, &pb.BatchAnswer{Message: a.Body, Failed: a.Failed})
	}
	return out, err
}

func (w *wired) Large(ctx context.Context, _ *pb.LargeRequest) (*pb.LargeResponse, error) {
	w.began <- ctx
	<-ctx.Done()
	w.ended <- ctx
	return nil, ctx.Err()
}

func (w *wired) LabelSets(context.Context, *pb.LabelSetsRequest) (*pb.LabelSetsResponse, error) {
	return nil, status.Error(codes.InvalidArgument, "no such thing")
}

// TagRPC, HandleRPC, TagConn and HandleConn implement stats.Handler.
func (w *wired) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (w *wired) HandleRPC(_ context.Context, s stats.RPCStats) {
	switch s := s.(type) {
	case *stats.Begin:
		w.streams.Add(1)
	case *stats.InPayload:
		w.largest.Store(max(w.largest.Load(), int64(s.WireLength)))
	case *stats.OutPayload:
		w.largest.Store(max(w.largest.Load(), int64(s.WireLength)))
	}
}
func (w *wired) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (w *wired) HandleConn(context.Context, stats.ConnStats)                       {}

// wire starts a process, and gives a connection to it and a function that ends the process and starts it again.
func wire(t *testing.T) (*wired, *Connection, func()) {
	w := &wired{began: make(chan context.Context, 1), ended: make(chan context.Context, 1)}
	var listener atomic.Pointer[bufconn.Listener]
	var s *grpc.Server
	start := func() {
		l := bufconn.Listen(1 << 20)
		listener.Store(l)
		s = grpc.NewServer(append(ServerOptions(nil), grpc.StatsHandler(w))...)
		services.Register(s, map[string]any{pb.ReadService_ServiceDesc.ServiceName: w})
		go func(s *grpc.Server) { _ = s.Serve(l) }(s)
	}
	start()
	conn, err := Dial("passthrough:0", grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		return listener.Load().DialContext(ctx)
	}))
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = conn.Close()
		s.Stop()
	})
	return w, NewConnection(conn, services, nil), func() {
		s.Stop()
		start()
	}
}

// Calls of any size share a stream, in messages that are small; their bytes are counted.
func TestConnectionSizes(t *testing.T) {
	w, l, _ := wire(t)
	for _, size := range []int{0, 1, FrameBytes - 1, FrameBytes, 3*FrameBytes + 17, 9 << 20} {
		from := bytes.Repeat([]byte{0xa7}, size)
		var n graph.Wire
		var a pb.StepResponse
		require.NoError(t, l.Start(t.Context(), pb.ReadService_Step_FullMethodName, &pb.StepRequest{From: from}, &a, &Group{wire: &n, sent: true})())
		require.True(t, bytes.Equal(from, a.GetTo()))
		require.EqualValues(t, 1, n.Requests.Load())
		for _, bytes := range []int64{n.Sent.Load(), n.Received.Load()} {
			require.GreaterOrEqual(t, bytes, int64(size))
			require.Less(t, bytes, int64(size+size/1000+100))
		}
	}
	require.EqualValues(t, 1, w.streams.Load())
	require.Less(t, w.largest.Load(), int64(2*FrameBytes))
}

// An error comes whole, and the stream serves on.
func TestConnectionErrors(t *testing.T) {
	w, l, _ := wire(t)
	c := pb.NewReadServiceClient(l)
	for range 3 {
		_, err := c.LabelSets(t.Context(), &pb.LabelSetsRequest{})
		require.Equal(t, codes.InvalidArgument, status.Code(err))
	}
	require.EqualValues(t, 1, w.streams.Load())
	err := l.Invoke(t.Context(), pb.LeadService_Renew_FullMethodName, &pb.RenewRequest{}, &pb.RenewResponse{})
	require.Equal(t, codes.Unimplemented, status.Code(err))
}

// A caller who gives up, or whose time is over, ends the call's context at the other side.
func TestConnectionCancelled(t *testing.T) {
	w, l, _ := wire(t)
	c := pb.NewReadServiceClient(l)
	_, err := c.Step(t.Context(), &pb.StepRequest{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-w.began
		cancel()
	}()
	_, err = c.Large(ctx, &pb.LargeRequest{})
	require.Equal(t, codes.Canceled, status.Code(err))
	require.ErrorIs(t, (<-w.ended).Err(), context.Canceled)

	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = c.Large(ctx, &pb.LargeRequest{})
	require.Equal(t, codes.DeadlineExceeded, status.Code(err))
	by, ok := (<-w.began).Deadline()
	require.True(t, ok)
	require.False(t, by.IsZero())
	require.Error(t, (<-w.ended).Err())

	_, err = c.Large(ctx, &pb.LargeRequest{}) // which is not even sent
	require.Equal(t, codes.DeadlineExceeded, status.Code(err))
	_, err = c.Step(t.Context(), &pb.StepRequest{})
	require.NoError(t, err)
}

// Streams that have ended with their process do not spoil the next call.
func TestConnectionRestart(t *testing.T) {
	w, l, restart := wire(t)
	c := pb.NewReadServiceClient(l)
	for range 3 {
		_, err := c.Step(t.Context(), &pb.StepRequest{})
		require.NoError(t, err)
		restart()
	}
	err := errors.New("none yet")
	for tries := 0; err != nil && tries < 100; tries++ { // the connection may be noticed to be gone only by a call
		_, err = c.Step(t.Context(), &pb.StepRequest{From: []byte("x")})
	}
	require.NoError(t, err)
	require.GreaterOrEqual(t, w.calls.Load(), int64(4))
}

// FuzzFrame decodes frames: nothing panics, and what is decoded says the same when it is encoded.
func FuzzFrame(f *testing.F) {
	f.Add((&frame{call: true, method: []byte("/s/M"), timeout: time.Second, more: true}).appendHead(nil))
	f.Add([]byte{flagFailed, 1, 2})
	f.Fuzz(func(t *testing.T, b []byte) {
		var p, again frame
		if p.parse(b) != nil {
			return
		}
		require.NoError(t, again.parse(append(p.appendHead(nil), p.body...)))
		require.True(t, bytes.Equal(p.method, again.method))
		require.Equal(t, p.timeout, again.timeout)
		require.True(t, bytes.Equal(p.body, again.body))
	})
}
