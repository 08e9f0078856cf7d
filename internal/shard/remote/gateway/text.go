package gateway

import (
	"context"

	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

// textHitBytes is the memory of a hit.
const textHitBytes = 48

// SearchText implements shard.TextSearcher. The leader has the full-text indexes of all shards, so it answers for each snapshot that it has pinned.
func (tx *Tx) SearchText(ctx context.Context, req *shard.TextSearch, res *shard.TextHits) error {
	res.Vertices, res.Edges, res.Scores = res.Vertices[:0], res.Edges[:0], res.Scores[:0]
	if err := tx.check(ctx); err != nil {
		return err
	}
	targets := []target{tx.all()}
	return ask(ctx, tx, pb.ReadService_SearchText_FullMethodName, targets, func(i int) proto.Message {
		return &pb.SearchTextRequest{
			Snapshot: targets[i].snap, Index: uint32(req.Index), Query: req.Query, Analyzer: req.Analyzer, Most: uint64(req.Most), Await: req.Await,
		}
	}, func(_ int, a *pb.SearchTextResponse) error {
		n := len(a.GetScores())
		edges := len(a.GetEdges()) > 0
		if edges && (len(a.GetEdges()) != n || len(a.GetSources()) != n || len(a.GetTargets()) != n || len(a.GetTypes()) != n) ||
			!edges && len(a.GetVertices()) != n {
			return wire.ErrMalformed
		}
		if req.Room != nil {
			if err := req.Room(n * textHitBytes); err != nil {
				return err
			}
		}
		res.Scores = append(res.Scores, a.GetScores()...)
		for i := range n {
			if !edges {
				res.Vertices = append(res.Vertices, graph.VertexID(a.GetVertices()[i]))
				continue
			}
			res.Edges = append(res.Edges, graph.Edge{
				ID: graph.EdgeID(a.GetEdges()[i]), Src: graph.VertexID(a.GetSources()[i]), Dst: graph.VertexID(a.GetTargets()[i]),
				Type: graph.TypeID(a.GetTypes()[i]),
			})
		}
		return nil
	})
}
