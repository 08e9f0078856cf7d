package server

import (
	"errors"

	"google.golang.org/grpc"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

// Host is a process that answers.
type Host struct {
	Process  int // its number
	Replicas *local.Replicas
	Parts    func(no int) (*local.Parts, error) // returns the replica of a shard here
	LeaderOf func(no int) int                   // returns the process that leads the replicas of a shard, -1 if that is not known
	Leading  func() *Leader                     // returns nil if the process does not lead the cluster
}

// Register makes a gRPC server answer for a process.
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

// leading returns what the process has as the leader of the cluster.
func (h *Host) leading() (*Leader, error) {
	if l := h.Leading(); l != nil && l.ctx.Err() == nil {
		return l, nil
	}
	return nil, h.notLeading()
}

// errNotLeading says that another process leads the cluster.
var errNotLeading = errors.New("this process does not lead the cluster")

// notLeading is the status of an answer that another process has to give.
func (h *Host) notLeading() error {
	leader := h.LeaderOf(0)
	if leader == h.Process {
		leader = -1
	}
	return NotLeading(leader, errNotLeading)
}
