package gateway

import (
	"context"
	"math"

	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
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
	targets, rows := tx.vertexTargets(ids)
	err = ask(ctx, tx, pb.ReadService_Compare_FullMethodName, targets, func(i int) proto.Message {
		return &pb.CompareRequest{
			Snapshot: targets[i].snap, Ids: wire.EncodeIDs(pick(ids, rows[i])), Prop: uint32(prop), Similarity: uint32(probe.By()), Vector: coords,
		}
	}, func(i int, a *pb.CompareResponse) error {
		if len(a.GetScores()) != len(rows[i]) {
			return wire.ErrMalformed
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
	targets := []target{tx.all()}
	if tx.clean() {
		targets = targets[:0]
		for no := range tx.g.shards {
			targets = append(targets, tx.shard(no))
		}
	}
	msg := pb.CompareRequest{
		Label: uint32(req.Label), Type: uint32(req.Type), Prop: uint32(req.Prop), Similarity: uint32(req.Probe.By()), Vector: req.Probe.Coordinates(), Best: uint64(req.K),
	}
	if req.HNSW != nil {
		msg.Hnsw = wire.EncodeVectorOptions(req.HNSW)
	}
	err = ask(ctx, tx, pb.ReadService_Compare_FullMethodName, targets, func(i int) proto.Message {
		one := proto.CloneOf(&msg)
		one.Snapshot = targets[i].snap
		return one
	}, func(_ int, a *pb.CompareResponse) error {
		if len(a.GetScores()) != len(a.GetIds()) || req.Type != 0 && (len(a.GetSources()) != len(a.GetIds()) || len(a.GetTargets()) != len(a.GetIds())) {
			return wire.ErrMalformed
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
