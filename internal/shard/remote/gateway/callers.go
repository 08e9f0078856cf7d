package gateway

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
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/remote/peers"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

// leaderCaller makes calls to the process that leads the cluster. A call that finds that another process leads, or does not reach it, fails
// as without an answer; the next one goes to the process that was named, or else to the next one with shard 0. It implements rpc.Conn.
type leaderCaller struct {
	assigned *peers.Assignment
	peers    *peers.List
	at       atomic.Int64
}

// note updates who leads after a call to a process has ended.
func (c *leaderCaller) note(process int64, err error) {
	if err == nil || wire.Fault(err) != nil {
		return
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.Unimplemented:
		to := int64(wire.LeaderOf(err))
		if to < 0 || to == process || c.peers.At(int(to)).Address == "" {
			to = int64(c.assigned.Next(0, int(process)))
			c.assigned.Renew()
		}
		c.at.CompareAndSwap(process, to)
	}
}

// Start implements rpc.Caller.
func (c *leaderCaller) Start(ctx context.Context, method string, in, out proto.Message, group *rpc.Group) (finish func() error) {
	process := c.at.Load()
	finished := c.peers.At(int(process)).Start(ctx, method, in, out, group)
	return func() error {
		err := finished()
		c.note(process, err)
		return err
	}
}

// Invoke implements grpc.ClientConnInterface.
func (c *leaderCaller) Invoke(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	return rpc.Invoke(ctx, c, method, args, reply)
}

// NewStream implements grpc.ClientConnInterface.
func (c *leaderCaller) NewStream(ctx context.Context, d *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	process := c.at.Load()
	stream, err := c.peers.At(int(process)).NewStream(ctx, d, method, opts...)
	if err != nil {
		c.note(process, err)
		return nil, err
	}
	return &leaderStream{stream, c, process}, nil
}

// leaderStream is a stream to the leader.
type leaderStream struct {
	grpc.ClientStream
	c       *leaderCaller
	process int64
}

// RecvMsg implements grpc.ClientStream.
func (s *leaderStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	s.c.note(s.process, err)
	return err
}

// readCaller makes calls that read of one shard to the processes that have it, in an order of its own: to the first one that is not known to
// be down, and to the next one if that has no answer, or not the state that is read. It implements rpc.Caller.
type readCaller struct {
	s     *Store
	no    int // the shard
	shift int // of the first process among those that have the shard, unless the near one is among them
	skip  int // how many processes of the order are asked last
}

// order returns the processes that have the shard, and the position of the one that is asked first.
func (c *readCaller) order() (processes []int, first int) {
	processes = c.s.assigned.Processes(c.no)
	if first = slices.Index(processes, c.s.near); first < 0 {
		first = c.shift
	}
	return processes, first + c.skip
}

// downFor is how long a process that did not answer is asked last.
const downFor = time.Second

// over returns the connection over which a process is asked: the second call takes the second one where no other process has the shard.
func (c *readCaller) over(p *peers.Peer, processes []int) rpc.Caller {
	if c.skip > 0 && len(processes) == 1 && p.Second != nil {
		return p.Second
	}
	return p.Conn
}

// Start implements rpc.Caller.
func (c *readCaller) Start(ctx context.Context, method string, in, out proto.Message, group *rpc.Group) (finish func() error) {
	processes, first := c.order()
	process := func(i int) *peers.Peer { return c.s.peers.At(processes[(first+i)%len(processes)]) }
	at := 0
	for at < len(processes)-1 && process(at).Avoided() {
		at++
	}
	finished := c.over(process(at), processes).Start(ctx, method, in, out, group)
	return func() error {
		err := finished()
		for next := range processes {
			if err == nil || ctx.Err() != nil || !passes(process(at), err) {
				break
			}
			if f := wire.Fault(err); f == nil || f.Detail == shard.SnapshotGone {
				c.s.assigned.Renew()
			}
			if next == at {
				continue
			}
			at = next
			err = process(at).Start(ctx, method, in, out, group)()
		}
		return err
	}
}

// passes reports whether another replica may answer what the replica of a process has not. A process that does not answer at all, or is damaged, is
// asked last for a while.
func passes(p *peers.Peer, err error) bool {
	if f := wire.Fault(err); f != nil {
		if f.Kind == graph.KindCorrupt { // the next reads go elsewhere at once
			p.Avoid(downFor)
		}
		return f.Kind == graph.KindCorrupt || f.Kind == graph.KindUnavailable && f.Detail != "Fenced"
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.Unimplemented:
		p.Avoid(downFor)
		return true
	default:
		return false
	}
}
