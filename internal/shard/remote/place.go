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
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/storage"
)

// placed answers PlaceService.
type placed struct {
	pb.UnimplementedPlaceServiceServer
	no     int
	roster *roster // of a process with replicas
	store  interface {
		Stats() map[string][]storage.Stats
		TopologyStats() storage.TopologyStats
	}
	// kept is of a process that keeps several shards of a graph.
	kept func(no int) (*local.Parts, error)
	// stalled, if not nil, is for how long the disk has completed no write.
	stalled func() time.Duration
}

// Place implements the call. A process whose disk hangs answers as one that hangs itself, so that pulses turn from it: what it leads
// waits for the disk, and other replicas answer.
func (p *placed) Place(context.Context, *pb.PlaceRequest) (*pb.PlaceResponse, error) {
	if p.stalled != nil && p.stalled() >= pulseWithin {
		return nil, status.Error(codes.DeadlineExceeded, "the disk of the process has completed no write for "+pulseWithin.String())
	}
	a := &pb.PlaceResponse{Shard: uint32(p.no), Batches: true}
	if p.roster != nil {
		a.Changes = p.roster.changes()
	}
	return a, nil
}

// Shape implements the call.
func (p *placed) Shape(_ context.Context, r *pb.ShapeRequest) (*pb.ShapeResponse, error) {
	all := p.store.Stats
	if p.kept != nil {
		parts, err := p.kept(int(r.GetShard()))
		if err != nil {
			return nil, toStatus(err)
		}
		all = parts.Stats
	}
	for _, s := range all()[r.GetGraph()] {
		b, err := json.Marshal(storage.Shape{Stats: s, Cache: p.store.TopologyStats()})
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
	s.mu.Lock()
	conns := s.conns
	s.mu.Unlock()
	var out []storage.Shape
	for no := range g.(*Graph).shards {
		who, keepers, try := fmt.Sprintf("shard %d", no), []int{no}, 0
		if s.replicas > 0 {
			keepers = s.placed.keepers(no)
		}
		var b []byte
		err := again(ctx, who, func(ctx context.Context) error {
			if s.replicas > 0 { // another process can answer
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, pulseWithin)
				defer cancel()
			}
			to := keepers[try%len(keepers)]
			try++
			var c pb.PlaceServiceClient
			if s.replicas > 0 {
				c = pb.NewPlaceServiceClient(s.roster.at(to).conn)
			} else {
				c = pb.NewPlaceServiceClient(conns[2*to])
			}
			r, err := c.Shape(ctx, &pb.ShapeRequest{Graph: name, Shard: uint32(no)})
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
