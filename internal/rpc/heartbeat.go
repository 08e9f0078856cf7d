package rpc

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A process may hang while its connections stay open: it is stopped, or the network drops its packets. gRPC notices after 20 s, since its
// keepalive waits 10 s before it sends a ping. A heartbeat notices within HeartbeatInterval + HeartbeatTimeout.
const (
	HeartbeatInterval = 500 * time.Millisecond
	HeartbeatTimeout  = 2 * time.Second
)

// Heartbeat pings a process, and fails the calls to it once it does not answer.
type Heartbeat struct {
	stop context.CancelFunc
	done chan struct{} // closed when run has ended

	mu   sync.Mutex
	life context.Context // ends when the process stops answering; the next answer begins another
	end  context.CancelFunc
}

// StartHeartbeat calls ping, which fails with a status, until Close.
func StartHeartbeat(ping func(ctx context.Context) error) *Heartbeat {
	ctx, stop := context.WithCancel(context.Background())
	h := &Heartbeat{stop: stop, done: make(chan struct{})}
	h.life, h.end = context.WithCancel(context.Background())
	go h.run(ctx, ping)
	return h
}

// Close stops the pings, and fails the calls.
func (h *Heartbeat) Close() {
	h.stop()
	<-h.done
	h.end()
}

// run pings the process until ctx ends.
func (h *Heartbeat) run(ctx context.Context, ping func(ctx context.Context) error) {
	defer close(h.done)
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, HeartbeatTimeout)
		err := ping(limited)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case status.Code(err) == codes.DeadlineExceeded:
			h.end()
		case status.Code(err) != codes.Unavailable: // without a connection, calls fail anyway
			h.recovered()
		}
		select {
		case <-time.After(HeartbeatInterval):
		case <-ctx.Done():
		}
	}
}

// recovered begins another life if the process had stopped answering.
func (h *Heartbeat) recovered() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life.Err() != nil {
		h.life, h.end = context.WithCancel(context.Background())
	}
}

// alive returns a context that ends with ctx and with the life of the process. Without a heartbeat, that does not end.
func (h *Heartbeat) alive(ctx context.Context) (_ context.Context, life context.Context, cancel context.CancelFunc) {
	ctx, cancel = context.WithCancel(ctx)
	if h == nil {
		return ctx, context.Background(), cancel
	}
	h.mu.Lock()
	life = h.life
	h.mu.Unlock()
	undo := context.AfterFunc(life, cancel)
	context.AfterFunc(ctx, func() { undo() })
	return ctx, life, cancel
}

// errSilent is the error of calls to a process that does not answer.
var errSilent = status.Error(codes.Unavailable, "the process has not answered for "+HeartbeatTimeout.String())

// aliveStream is a stream that ends with the life of the process.
type aliveStream struct {
	grpc.ClientStream
	life context.Context
}

// RecvMsg implements grpc.ClientStream.
func (s *aliveStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err != nil && s.life.Err() != nil {
		return errSilent
	}
	return err
}
