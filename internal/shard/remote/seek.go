package remote

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// seeker makes calls to the process that leads the cluster, one of several. A call that finds that another process leads, or does not
// reach it, fails as without an answer; the next one goes to the process that was named, or else to the next one with shard 0. It implements
// caller.
type seeker struct {
	placed *placement
	roster *roster
	at     atomic.Int64
}

// note takes in how a call to a process has ended.
func (s *seeker) note(process int64, err error) {
	if err == nil || answered(err) {
		return
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.Unimplemented:
		to := int64(leaderOf(err))
		if to < 0 || to == process || s.roster.at(int(to)).address == "" {
			keepers := s.placed.keepers(0)
			to = int64(keepers[(slices.Index(keepers, int(process))+1)%len(keepers)])
			s.placed.renew()
		}
		s.at.CompareAndSwap(process, to)
	}
}

// answered reports whether an error is an answer.
func answered(err error) bool { return faultOf(status.Convert(err)) != nil }

// start implements caller.
func (s *seeker) start(ctx context.Context, method string, in, out proto.Message, fan *fanout) (finish func() error) {
	process := s.at.Load()
	finished := s.roster.at(int(process)).start(ctx, method, in, out, fan)
	return func() error {
		err := finished()
		s.note(process, err)
		return err
	}
}

// Invoke implements grpc.ClientConnInterface.
func (s *seeker) Invoke(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	return s.start(ctx, method, args.(proto.Message), reply.(proto.Message), nil)()
}

// NewStream implements grpc.ClientConnInterface.
func (s *seeker) NewStream(ctx context.Context, d *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	process := s.at.Load()
	stream, err := s.roster.at(int(process)).NewStream(ctx, d, method, opts...)
	if err != nil {
		s.note(process, err)
		return nil, err
	}
	return &seekerStream{stream, s, process}, nil
}

// seekerStream is a stream to the leader.
type seekerStream struct {
	grpc.ClientStream
	s       *seeker
	process int64
}

// RecvMsg implements grpc.ClientStream.
func (s *seekerStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	s.s.note(s.process, err)
	return err
}

// readCaller makes calls that read of one shard to the processes that keep it, in an order of its own: to the first one that is not known
// to be down, and to the next one if that has no answer, or not the state that is read. It implements caller.
type readCaller struct {
	s     *Store
	no    int // the shard
	shift int // of the first process among those that keep the shard, unless the near one does
	skip  int // how many processes of the order are asked last
}

// order returns the processes that keep the shard, and the position of the one that is asked first.
func (c *readCaller) order() (keepers []int, first int) {
	keepers = c.s.placed.keepers(c.no)
	if first = slices.Index(keepers, c.s.near); first < 0 {
		first = c.shift
	}
	return keepers, first + c.skip
}

// downFor is how long a process that did not answer is asked last.
const downFor = time.Second

// way is how a process is asked: another time over another connection, where no other process has the shard.
func (c *readCaller) way(p *contact, keepers []int) caller {
	if c.skip > 0 && len(keepers) == 1 && p.again != nil {
		return p.again
	}
	return p.caller
}

// start implements caller.
func (c *readCaller) start(ctx context.Context, method string, in, out proto.Message, fan *fanout) (finish func() error) {
	keepers, first := c.order()
	process := func(i int) *contact { return c.s.roster.at(keepers[(first+i)%len(keepers)]) }
	at, now := 0, time.Now().UnixNano()
	for at < len(keepers)-1 && process(at).down.Load() > now {
		at++
	}
	finished := c.way(process(at), keepers).start(ctx, method, in, out, fan)
	return func() error {
		err := finished()
		for next := range keepers {
			if err == nil || ctx.Err() != nil || !process(at).passes(err) {
				break
			}
			if f := faultOf(status.Convert(err)); f == nil || f.Detail == shard.SnapshotGone {
				c.s.placed.renew()
			}
			if next == at {
				continue
			}
			at = next
			err = process(at).start(ctx, method, in, out, fan)()
		}
		return err
	}
}

// passes reports whether another replica may answer what this one has not, and notes a process that does not answer at all, or is damaged.
func (p *contact) passes(err error) bool {
	if f := faultOf(status.Convert(err)); f != nil {
		if f.Kind == graph.KindCorrupt { // the next reads go elsewhere at once
			p.down.Store(time.Now().Add(downFor).UnixNano())
		}
		return f.Kind == graph.KindCorrupt || f.Kind == graph.KindUnavailable && f.Detail != "Fenced"
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.Unimplemented:
		p.down.Store(time.Now().Add(downFor).UnixNano())
		return true
	default:
		return false
	}
}

// Invoke implements grpc.ClientConnInterface.
func (c *readCaller) Invoke(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	return c.start(ctx, method, args.(proto.Message), reply.(proto.Message), nil)()
}

// NewStream implements grpc.ClientConnInterface. Nothing that is read of a shard takes a stream.
func (c *readCaller) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "a read takes no stream")
}
