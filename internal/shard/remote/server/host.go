package server

import (
	"errors"

	"google.golang.org/grpc"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/shard/local/part"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
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
