package gateway

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/hopgate/hopgate/internal/rpc"
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
