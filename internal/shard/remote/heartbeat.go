package remote

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
)

// A process may hang while its connections stay open: it is stopped, or the network drops its packets. gRPC notices after 20 s, since its
// keepalive waits 10 s before it sends a ping. A heartbeat notices within heartbeatEvery + heartbeatWithin.
const (
	heartbeatEvery  = 500 * time.Millisecond
	heartbeatWithin = 2 * time.Second
)

// heartbeat pings a process and fails the calls to it once it does not answer.
type heartbeat struct {
	stop context.CancelFunc
	done chan struct{} // closed when run has ended

	mu   sync.Mutex
	life context.Context // ends when the process stops answering; its next answer starts another
	end  context.CancelFunc
}

// startHeartbeat pings the process at the other end of a connection until close. changed, if not nil, gets how many changes of the members
// that process knows; see roster.
func startHeartbeat(conn grpc.ClientConnInterface, changed func(changes uint32)) *heartbeat {
	ctx, stop := context.WithCancel(context.Background())
	p := &heartbeat{stop: stop, done: make(chan struct{})}
	p.life, p.end = context.WithCancel(context.Background())
	go p.run(ctx, pb.NewPlaceServiceClient(conn), changed)
	return p
}

// close stops the pings.
func (p *heartbeat) close() {
	p.stop()
	<-p.done
	p.end()
}

// run pings the process until ctx ends.
func (p *heartbeat) run(ctx context.Context, c pb.PlaceServiceClient, changed func(changes uint32)) {
	defer close(p.done)
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, heartbeatWithin)
		a, err := c.Place(limited, &pb.PlaceRequest{})
		cancel()
		if err == nil && changed != nil {
			changed(a.GetChanges())
		}
		switch {
		case ctx.Err() != nil:
			return
		case status.Code(err) == codes.DeadlineExceeded:
			p.end()
		case status.Code(err) != codes.Unavailable: // without a connection, calls fail anyway
			p.recovered()
		}
		select {
		case <-time.After(heartbeatEvery):
		case <-ctx.Done():
		}
	}
}

// recovered starts another life of the process if it had stopped answering.
func (p *heartbeat) recovered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life.Err() != nil {
		p.life, p.end = context.WithCancel(context.Background())
	}
}

// alive returns a context that ends with ctx and with the life of the process. A nil heartbeat never ends.
func (p *heartbeat) alive(ctx context.Context) (_ context.Context, life context.Context, cancel context.CancelFunc) {
	ctx, cancel = context.WithCancel(ctx)
	if p == nil {
		return ctx, context.Background(), cancel
	}
	p.mu.Lock()
	life = p.life
	p.mu.Unlock()
	undo := context.AfterFunc(life, cancel)
	context.AfterFunc(ctx, func() { undo() })
	return ctx, life, cancel
}

// errSilent is the error of calls to a process that does not answer.
var errSilent = status.Error(codes.Unavailable, "the process has not answered for "+heartbeatWithin.String())

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
