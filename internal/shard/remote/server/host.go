package server

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/replica"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/part"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
	"github.com/hopgate/hopgate/internal/storage"
)

// Host is the process that the services answer for.
type Host struct {
	Process  int // its number
	Replicas *part.Replicas
	Parts    func(no int) (*part.Parts, error) // returns the replica of a shard here
	LeaderOf func(no int) int                  // returns the process that leads the replicas of a shard, -1 if that is not known
	Leading  func() *Leader                    // returns nil if the process does not lead the cluster
}

// Register registers the services of a process.
func Register(s grpc.ServiceRegistrar, h *Host) {
	read, keep, lead := &readService{Host: h}, &keepService{Host: h}, &leadService{Host: h}
	pb.RegisterReadServiceServer(s, read)
	pb.RegisterKeepServiceServer(s, keep)
	pb.RegisterLeadServiceServer(s, lead)
	wire.Services.Register(s, map[string]any{
		pb.ReadService_ServiceDesc.ServiceName: read, pb.KeepService_ServiceDesc.ServiceName: keep, pb.LeadService_ServiceDesc.ServiceName: lead,
	})
	pb.RegisterMaintainServiceServer(s, &maintainService{Host: h})
	pb.RegisterCopyServiceServer(s, &copyService{Host: h})
}

// leading returns the Leader, or a status that names the process that leads.
func (h *Host) leading() (*Leader, error) {
	if l := h.Leading(); l != nil && l.ctx.Err() == nil {
		return l, nil
	}
	return nil, h.notLeading()
}

// errNotLeading is the error of calls to a process that does not lead the cluster.
var errNotLeading = errors.New("this process does not lead the cluster")

// notLeading returns NotLeading with the leader of the cluster.
func (h *Host) notLeading() error {
	leader := h.LeaderOf(0)
	if leader == h.Process {
		leader = -1
	}
	return NotLeading(leader, errNotLeading)
}

// Status returns the status of an answer with an error. It carries all of a graph.Error.
func Status(err error) error {
	if err == nil {
		return nil
	}
	switch {
	case status.Code(err) == codes.Unavailable: // it is a status already
		return err
	case errors.Is(err, replica.ErrNotLeader), errors.Is(err, replica.ErrAmbiguous), errors.Is(err, replica.ErrStopped):
		return status.Error(codes.Unavailable, err.Error()) // the caller retries
	case errors.Is(err, storage.ErrGone):
		err = wire.Unavailable(shard.SnapshotGone, "the snapshot is gone because a shard or its leader has restarted; run the statement again", nil)
	case errors.Is(err, storage.ErrAhead):
		err = wire.Unavailable(shard.SnapshotAhead, "the shard has not applied the version of the snapshot yet; run the statement again", nil)
	case errors.Is(err, storage.ErrFenced):
		err = wire.Unavailable("Fenced", "another process leads the graph now", nil)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		if _, ok := errors.AsType[*graph.Error](err); !ok {
			err = graph.DeadlineError(err)
		}
	}
	e := graph.AsError(err)
	f := &pb.Fault{
		Kind: uint32(e.Kind), Code: e.Code, Type: e.Type, Phase: e.Phase, Detail: e.Detail, Message: e.Msg,
		Line: int32(e.Pos.Line), Column: int32(e.Pos.Column), Offset: int32(e.Pos.Offset),
	}
	if e.Err != nil {
		f.Message = e.Error()
	}
	st, derr := status.New(codes.Aborted, f.Message).WithDetails(f)
	if derr != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return st.Err()
}

// NotLeading returns the status of calls that only the leader answers; leader is the number of its process, -1 if unknown.
func NotLeading(leader int, err error) error {
	st, derr := status.New(codes.Unavailable, err.Error()).WithDetails(&pb.NotLeading{Leader: uint32(leader + 1)})
	if derr != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	return st.Err()
}
