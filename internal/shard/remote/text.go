package remote

import (
	"context"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// maxSearchBytes is the most memory of the leader that a gateway's full-text search may take.
const maxSearchBytes = 256 << 20

// textHitBytes is what a hit takes in memory.
const textHitBytes = 48

// SearchText implements shard.TextSearcher. The leader has the full-text indexes of all shards, so it answers for each snapshot that it has pinned.
func (tx *Tx) SearchText(ctx context.Context, req *shard.TextSearch, res *shard.TextHits) error {
	res.Vertices, res.Edges, res.Scores = res.Vertices[:0], res.Edges[:0], res.Scores[:0]
	if err := tx.check(ctx); err != nil {
		return err
	}
	places := []place{tx.all()}
	return ask(ctx, tx, pb.ReadService_SearchText_FullMethodName, places, func(i int) proto.Message {
		return &pb.SearchTextRequest{
			Snapshot: places[i].snap, Index: uint32(req.Index), Query: req.Query, Analyzer: req.Analyzer, Most: uint64(req.Most), Await: req.Await,
		}
	}, func(_ int, a *pb.SearchTextResponse) error {
		n := len(a.GetScores())
		edges := len(a.GetEdges()) > 0
		if edges && (len(a.GetEdges()) != n || len(a.GetSources()) != n || len(a.GetTargets()) != n || len(a.GetTypes()) != n) ||
			!edges && len(a.GetVertices()) != n {
			return errCodec
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

// SearchText implements the call.
func (r *reader) SearchText(ctx context.Context, req *pb.SearchTextRequest) (*pb.SearchTextResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(part shard.PartTx) (*pb.SearchTextResponse, error) {
		tx := part.Features().Text
		if tx == nil {
			return nil, misuse("the process is not the leader, which has the full-text indexes")
		}
		var res shard.TextHits
		room := maxSearchBytes
		err := tx.SearchText(ctx, &shard.TextSearch{
			Index: graph.IndexID(req.GetIndex()), Query: req.GetQuery(), Analyzer: req.GetAnalyzer(), Most: int(min(req.GetMost(), math.MaxInt32)),
			Await: req.GetAwait(), Room: func(bytes int) error {
				if room -= bytes; room < 0 {
					return graph.BudgetError("the full-text search takes more than %d MiB of the leader: give it a limit", maxSearchBytes>>20)
				}
				return nil
			},
		}, &res)
		if err != nil {
			return nil, err
		}
		out := &pb.SearchTextResponse{Scores: res.Scores}
		out.Vertices = slices.Grow(out.Vertices, len(res.Vertices))
		for _, v := range res.Vertices {
			out.Vertices = append(out.Vertices, uint64(v))
		}
		for _, e := range res.Edges {
			out.Edges, out.Sources = append(out.Edges, uint64(e.ID)), append(out.Sources, uint64(e.Src))
			out.Targets, out.Types = append(out.Targets, uint64(e.Dst)), append(out.Types, uint32(e.Type))
		}
		return out, nil
	})
}
