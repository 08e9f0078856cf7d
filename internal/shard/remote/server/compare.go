package server

import (
	"context"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

// Compare implements the call.
func (r *readService) Compare(ctx context.Context, req *pb.CompareRequest) (*pb.CompareResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(tx shard.PartTx) (*pb.CompareResponse, error) {
		var probe vector.Probe
		if by := graph.Similarity(req.GetSimilarity()); by > graph.Euclidean || !probe.SetCoordinates(by, req.GetVector()) {
			return nil, wire.ErrMalformed
		}
		prop := graph.PropID(req.GetProp())
		if req.GetBest() > 0 {
			var best shard.Top
			near := shard.Nearest{Label: graph.LabelID(req.GetLabel()), Type: graph.TypeID(req.GetType()), Prop: prop, Probe: &probe, K: int(min(req.GetBest(), wire.MaxRoom))}
			if req.GetHnsw() != nil {
				o := wire.DecodeVectorOptions(req.GetHnsw())
				near.HNSW = &o
			}
			found, err := shard.FindNearest(ctx, tx, &near, &best)
			if err != nil {
				return nil, err
			}
			out := &pb.CompareResponse{Compared: uint64(found.Compared), Bytes: uint64(found.Bytes), Candidates: uint64(found.Candidates)}
			for _, h := range best.Hits {
				out.Scores, out.Ids = append(out.Scores, float32(h.Score)), append(out.Ids, h.ID)
				if near.Type != 0 {
					out.Sources, out.Targets = append(out.Sources, uint64(h.Edge.Src)), append(out.Targets, uint64(h.Edge.Dst))
				}
			}
			return out, nil
		}
		ids, err := wire.DecodeIDs([]graph.VertexID(nil), req.GetIds())
		if err != nil {
			return nil, err
		}
		scores := make([]float64, len(ids))
		bytes, err := tx.Compare(ctx, prop, &probe, ids, scores)
		out := &pb.CompareResponse{Scores: make([]float32, len(ids)), Compared: uint64(len(ids)), Bytes: uint64(bytes)}
		for i, s := range scores {
			out.Scores[i] = float32(s)
		}
		return out, err
	})
}
