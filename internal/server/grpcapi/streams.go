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
	"github.com/hopgate/hopgate/internal/quota"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// streams are the open streaming calls, in a ring.
type streams struct {
	mu  sync.Mutex
	all guardedStream // the head, which is none
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
	head := s.head()
	g.next, g.last = head, head.last
	g.last.next, head.last = g, g
	return g, nil
}

// head returns the head of the ring. s.mu is held.
func (s *streams) head() *guardedStream {
	if s.all.next == nil {
		s.all.next, s.all.last = &s.all, &s.all
	}
	return &s.all
}

func (s *streams) close(g *guardedStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g.last.next, g.next.last = g.next, g.last
}

// sweep ends the streams whose callers have lost their rights, and those whose clients do not read.
func (s *streams) sweep(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for head, g := s.head(), s.head().next; g != head; g = g.next {
		err := g.permit()
		if err == nil && g.blocked(now) {
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
	sends     atomic.Uint64                // odd while it sends a message
	seen      uint64                       // sends when a sweep last saw it change
	seenAt    time.Time                    // the time of that sweep
	next      *guardedStream
	last      *guardedStream
	meter     *access.Meter // or nil
	quotas    quota.Notice  // of the call
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

// blocked reports whether it has been sending one message for longer than a client may take for it. Sweeps call it.
func (s *guardedStream) blocked(now time.Time) bool {
	if sends := s.sends.Load(); sends != s.seen {
		s.seen, s.seenAt = sends, now
	}
	return s.seen%2 == 1 && now.Sub(s.seenAt) > request.WriteTime
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
	s.sends.Add(1)
	defer s.sends.Add(1)
	return s.ServerStream.SendMsg(m)
}
