package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage"
)

// placed answers PlaceService.
type placed struct {
	pb.UnimplementedPlaceServiceServer
	p       *Process
	stalled func() time.Duration // for how long the disk has completed no write
}

// Place implements the call. A process whose disk hangs answers as one that hangs itself, so that heartbeats turn from it: what it leads
// waits for the disk, and other replicas answer.
func (s *placed) Place(context.Context, *pb.PlaceRequest) (*pb.PlaceResponse, error) {
	if s.stalled() >= heartbeatWithin {
		return nil, status.Error(codes.DeadlineExceeded, "the disk of the process has completed no write for "+heartbeatWithin.String())
	}
	return &pb.PlaceResponse{Process: uint32(s.p.no), Changes: s.p.roster.changes()}, nil
}

// Shape implements the call.
func (s *placed) Shape(_ context.Context, r *pb.ShapeRequest) (*pb.ShapeResponse, error) {
	parts, err := s.p.kept(int(r.GetShard()))
	if err != nil {
		return nil, toStatus(err)
	}
	for _, st := range parts.Stats()[r.GetGraph()] {
		b, err := json.Marshal(storage.Shape{Stats: st, Cache: s.p.replicas.TopologyStats()})
		return &pb.ShapeResponse{Shape: b}, toStatus(err)
	}
	return &pb.ShapeResponse{}, nil
}

// Shapes asks the processes of a graph's shards for their shapes.
func (s *Store) Shapes(ctx context.Context, name string) ([]storage.Shape, error) {
	g, err := s.Graph(name)
	if err != nil {
		return nil, err
	}
	var out []storage.Shape
	for no := range g.(*Graph).shards {
		who, try := fmt.Sprintf("shard %d", no), 0
		var b []byte
		err := again(ctx, who, func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, heartbeatWithin) // another process can answer
			defer cancel()
			keepers := s.placed.keepers(no)
			to := keepers[try%len(keepers)]
			try++
			r, err := pb.NewPlaceServiceClient(s.roster.at(to).conn).Shape(ctx, &pb.ShapeRequest{Graph: name, Shard: uint32(no)})
			b = r.GetShape()
			return err
		})
		if err != nil {
			return nil, err
		}
		var shape storage.Shape
		if len(b) > 0 {
			if err := json.Unmarshal(b, &shape); err != nil {
				return nil, graph.InternalError(who, err)
			}
			out = append(out, shape)
		}
	}
	return out, nil
}
