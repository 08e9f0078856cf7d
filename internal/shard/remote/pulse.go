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

// A process may hang although its connections stand: it is stopped, or the network drops its packets. gRPC notices that after 20 s, since
// its keepalive sends no ping before 10 s. Where other replicas can answer, a pulse notices within pulseEvery + pulseWithin.
const (
	pulseEvery  = 500 * time.Millisecond
	pulseWithin = 2 * time.Second
)

// pulse pings a process and ends the calls to it once it does not answer.
type pulse struct {
	stop context.CancelFunc
	done chan struct{} // closed when run has ended

	mu   sync.Mutex
	life context.Context // ends when the process stops answering; its next answer begins another one
	end  context.CancelFunc
}

// startPulse pings the process at the other end of a connection until close. heard, if not nil, gets how many changes of the processes it
// knows; see roster.
func startPulse(conn grpc.ClientConnInterface, heard func(changes uint32)) *pulse {
	ctx, stop := context.WithCancel(context.Background())
	p := &pulse{stop: stop, done: make(chan struct{})}
	p.life, p.end = context.WithCancel(context.Background())
	go p.run(ctx, pb.NewPlaceServiceClient(conn), heard)
	return p
}

// close ends the pings.
func (p *pulse) close() {
	p.stop()
	<-p.done
	p.end()
}

// run pings the process until ctx ends.
func (p *pulse) run(ctx context.Context, c pb.PlaceServiceClient, heard func(changes uint32)) {
	defer close(p.done)
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, pulseWithin)
		a, err := c.Place(limited, &pb.PlaceRequest{})
		cancel()
		if err == nil && heard != nil {
			heard(a.GetChanges())
		}
		switch {
		case ctx.Err() != nil:
			return
		case status.Code(err) == codes.DeadlineExceeded:
			p.end()
		case status.Code(err) != codes.Unavailable: // without a connection, calls fail by themselves
			p.revive()
		}
		select {
		case <-time.After(pulseEvery):
		case <-ctx.Done():
		}
	}
}

// revive begins another life of the process if it had stopped answering.
func (p *pulse) revive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life.Err() != nil {
		p.life, p.end = context.WithCancel(context.Background())
	}
}

// lived returns a context that ends with ctx, and with the life of the process. A nil pulse has an endless life.
func (p *pulse) lived(ctx context.Context) (_ context.Context, life context.Context, cancel context.CancelFunc) {
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

// errSilent is the error of calls to a process that has stopped answering.
var errSilent = status.Error(codes.Unavailable, "the process has not answered for "+pulseWithin.String())

// livedStream is a stream that ends with the life of the process.
type livedStream struct {
	grpc.ClientStream
	life context.Context
}

// RecvMsg implements grpc.ClientStream.
func (s *livedStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err != nil && s.life.Err() != nil {
		return errSilent
	}
	return err
}
