package grpcapi

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// streams are the open streaming calls.
type streams struct {
	mu  sync.Mutex
	all map[*guardedStream]struct{}
}

// ender is the transport's interface that ends a call whose handler waits for its client: the handler's context ends.
type ender interface {
	WriteStatus(s *status.Status) error
}

// open guards a stream until close.
func (s *streams) open(ss grpc.ServerStream) (*guardedStream, error) {
	end, ok := grpc.ServerTransportStreamFromContext(ss.Context()).(ender)
	if !ok {
		return nil, status.Error(codes.Internal, "unexpected gRPC transport")
	}
	g := &guardedStream{ServerStream: ss, ctx: ss.Context(), transport: end}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[*guardedStream]struct{}{}
	}
	s.all[g] = struct{}{}
	return g, nil
}

func (s *streams) close(g *guardedStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, g)
}

// sweep ends the streams whose callers have lost their rights, and those whose clients do not read.
func (s *streams) sweep(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for g := range s.all {
		err := g.permit()
		if since := g.sending.Load(); err == nil && since != 0 && now.Sub(time.Unix(0, since)) > request.WriteTime {
			err = graph.DeadlineError(request.ErrNotRead)
		}
		if err != nil {
			_ = g.transport.WriteStatus(status.Convert(wire.GRPCError(err)))
		}
	}
}

// guardedStream checks the rights of its caller at every message.
type guardedStream struct {
	grpc.ServerStream
	ctx       context.Context
	transport ender
	check     atomic.Pointer[func() error] // nil: until the caller is known
	sending   atomic.Int64                 // the time since which it sends a message, in Unix nanoseconds; 0: it does not
	meter     *access.Meter                // or nil
	// In each direction, all messages but the first wait while the caller's rate is exceeded; flow control then slows down the client.
	received, sent bool
}

// Context returns the context with the caller.
func (s *guardedStream) Context() context.Context { return s.ctx }

// permit returns why the call may not go on, or nil.
func (s *guardedStream) permit() error {
	if check := s.check.Load(); check != nil {
		return (*check)()
	}
	return nil
}

// RecvMsg receives a message once the rate permits.
func (s *guardedStream) RecvMsg(m any) error {
	if s.received {
		s.meter.Wait(s.ctx)
	}
	s.received = true
	err := s.ServerStream.RecvMsg(m)
	if err != nil {
		return err
	}
	count(s.meter, m)
	return wire.GRPCError(s.permit())
}

// SendMsg sends a message once the rate permits.
func (s *guardedStream) SendMsg(m any) error {
	if s.sent {
		s.meter.Wait(s.ctx)
	}
	s.sent = true
	if err := s.permit(); err != nil {
		return wire.GRPCError(err)
	}
	count(s.meter, m)
	s.sending.Store(time.Now().UnixNano())
	defer s.sending.Store(0)
	return s.ServerStream.SendMsg(m)
}
