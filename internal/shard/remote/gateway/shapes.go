package gateway

import (
	"context"
	"encoding/json"
	"fmt"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard/remote/peers"
	"github.com/hopgate/hopgate/internal/storage"
)

// Shapes returns the shapes of a graph's shards, asked from the processes that have them.
func (s *Store) Shapes(ctx context.Context, name string) ([]storage.Shape, error) {
	g, err := s.Graph(name)
	if err != nil {
		return nil, err
	}
	var out []storage.Shape
	for no := range g.(*Graph).shards {
		who, try := fmt.Sprintf("shard %d", no), 0
		var b []byte
		err := peers.Call(ctx, who, func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, rpc.HeartbeatTimeout) // another process can answer
			defer cancel()
			processes := s.assigned.Processes(no)
			to := processes[try%len(processes)]
			try++
			r, err := pb.NewPlaceServiceClient(s.peers.At(to).Raw).Shape(ctx, &pb.ShapeRequest{Graph: name, Shard: uint32(no)})
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
