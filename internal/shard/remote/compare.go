package remote

import (
	"context"
	"math"

	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
	"github.com/hopgate/hopgate/internal/shard"
)

// Compare implements shard.Composed.
func (tx *Tx) Compare(ctx context.Context, prop graph.PropID, probe *vector.Probe, ids []graph.VertexID, scores []float64) (bytes int, err error) {
	if err := tx.check(ctx); err != nil {
		return 0, err
	}
	for i := range ids {
		scores[i] = math.NaN() // of shards that do not exist
	}
	coords := probe.Coordinates()
	places, rows := tx.vertexPlaces(ids)
	err = ask(ctx, tx, pb.ReadService_Compare_FullMethodName, places, func(i int) proto.Message {
		return &pb.CompareRequest{
			Snapshot: places[i].snap, Ids: appendIDs(nil, pick(ids, rows[i])), Prop: uint32(prop), Similarity: uint32(probe.By()), Vector: coords,
		}
	}, func(i int, a *pb.CompareResponse) error {
		if len(a.GetScores()) != len(rows[i]) {
			return errCodec
		}
		for j, row := range rows[i] {
			scores[row] = float64(a.GetScores()[j])
		}
		bytes += int(a.GetBytes())
		return nil
	})
	return bytes, err
}

// CompareEdges implements shard.Composed: it reads the vectors, which are compared here.
func (tx *Tx) CompareEdges(ctx context.Context, req *shard.Nearest, sources []graph.VertexID, best *shard.Top) (shard.NearestFound, error) {
	return shard.ReadAndCompareEdges(ctx, tx, req, sources, best)
}

// Nearest implements shard.Composed: each shard finds the most similar of its own vertices, or of the edges that leave them.
func (tx *Tx) Nearest(ctx context.Context, req *shard.Nearest, best *shard.Top) (found shard.NearestFound, err error) {
	if err := tx.check(ctx); err != nil {
		return found, err
	}
	places := []place{tx.all()}
	if tx.clean() {
		places = places[:0]
		for no := range tx.g.shards {
			places = append(places, tx.shard(no))
		}
	}
	msg := pb.CompareRequest{
		Label: uint32(req.Label), Type: uint32(req.Type), Prop: uint32(req.Prop), Similarity: uint32(req.Probe.By()), Vector: req.Probe.Coordinates(), Best: uint64(req.K),
	}
	if req.HNSW != nil {
		msg.Hnsw = encodeVectorOptions(req.HNSW)
	}
	err = ask(ctx, tx, pb.ReadService_Compare_FullMethodName, places, func(i int) proto.Message {
		one := proto.CloneOf(&msg)
		one.Snapshot = places[i].snap
		return one
	}, func(_ int, a *pb.CompareResponse) error {
		if len(a.GetScores()) != len(a.GetIds()) || req.Type != 0 && (len(a.GetSources()) != len(a.GetIds()) || len(a.GetTargets()) != len(a.GetIds())) {
			return errCodec
		}
		for j, id := range a.GetIds() {
			h := shard.Hit{Score: float64(a.GetScores()[j]), ID: id}
			if req.Type != 0 {
				h.Edge = graph.Edge{ID: graph.EdgeID(id), Type: req.Type, Src: graph.VertexID(a.GetSources()[j]), Dst: graph.VertexID(a.GetTargets()[j])}
			}
			best.Add(req.K, h)
		}
		found.Add(shard.NearestFound{Compared: int(a.GetCompared()), Bytes: int(a.GetBytes()), Candidates: int(a.GetCandidates())})
		return nil
	})
	found.Done = err == nil
	return found, err
}

// Compare implements the call.
func (r *reader) Compare(ctx context.Context, req *pb.CompareRequest) (*pb.CompareResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(tx shard.PartTx) (*pb.CompareResponse, error) {
		var probe vector.Probe
		if by := graph.Similarity(req.GetSimilarity()); by > graph.Euclidean || !probe.SetCoordinates(by, req.GetVector()) {
			return nil, errCodec
		}
		prop := graph.PropID(req.GetProp())
		if req.GetBest() > 0 {
			var best shard.Top
			near := shard.Nearest{Label: graph.LabelID(req.GetLabel()), Type: graph.TypeID(req.GetType()), Prop: prop, Probe: &probe, K: int(min(req.GetBest(), maxRoom))}
			if req.GetHnsw() != nil {
				o := decodeVectorOptions(req.GetHnsw())
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
		ids, err := parseIDs([]graph.VertexID(nil), req.GetIds())
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
