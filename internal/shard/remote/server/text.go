package server

import (
	"context"
	"math"
	"slices"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// maxSearchBytes bounds the memory that a gateway's full-text search takes at the leader.
const maxSearchBytes = 256 << 20

// SearchText implements the call.
func (r *readService) SearchText(ctx context.Context, req *pb.SearchTextRequest) (*pb.SearchTextResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(part shard.PartTx) (*pb.SearchTextResponse, error) {
		tx := part.Features().Text
		if tx == nil {
			return nil, graph.InternalError("the process is not the leader, which has the full-text indexes", nil)
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
