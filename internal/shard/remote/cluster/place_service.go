package cluster

import (
	"context"
	"encoding/json"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard/remote/server"
	"github.com/hopgate/hopgate/internal/storage"
)

// placeService answers PlaceService.
type placeService struct {
	pb.UnimplementedPlaceServiceServer
	p       *Process
	stalled func() time.Duration // for how long the disk has completed no write
}

// Place implements the call. A process whose disk hangs answers as one that hangs itself, so that heartbeats fail the calls to it: the groups that
// it leads wait for the disk, and other replicas can answer.
func (s *placeService) Place(context.Context, *pb.PlaceRequest) (*pb.PlaceResponse, error) {
	if s.stalled() >= rpc.HeartbeatTimeout {
		return nil, status.Error(codes.DeadlineExceeded, "the disk of the process has completed no write for "+rpc.HeartbeatTimeout.String())
	}
	return &pb.PlaceResponse{Process: uint32(s.p.no), Changes: s.p.peers.Changes()}, nil
}

// Shape implements the call.
func (s *placeService) Shape(_ context.Context, r *pb.ShapeRequest) (*pb.ShapeResponse, error) {
	parts, err := s.p.hosted(int(r.GetShard()))
	if err != nil {
		return nil, server.Status(err)
	}
	for _, st := range parts.Stats()[r.GetGraph()] {
		b, err := json.Marshal(storage.Shape{Stats: st, Cache: s.p.replicas.TopologyStats()})
		return &pb.ShapeResponse{Shape: b}, server.Status(err)
	}
	return &pb.ShapeResponse{}, nil
}
