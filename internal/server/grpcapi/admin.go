package grpcapi

import (
	"context"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/schema"
	"github.com/hopgate/hopgate/internal/server/summary"
	"github.com/hopgate/hopgate/internal/server/wire"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/telemetry"
	"github.com/hopgate/hopgate/internal/version"
)

// adminService implements AdminService.
type adminService struct {
	pb.UnimplementedAdminServiceServer
	e          *query.Engine
	store      telemetry.Storage // or nil
	maintainer shard.Maintainer  // or nil
	// drained ends when the server drains; so do calls without an end of their own.
	drained context.Context
	debug   debugFiles

	profiles *telemetry.Profiles // or nil
	backedUp *prometheus.GaugeVec
}

func newAdminService(drained context.Context, e *query.Engine, store telemetry.Storage, debug debugFiles, profiles *telemetry.Profiles) *adminService {
	return &adminService{
		e: e, store: store, maintainer: e.StoreFeatures().Maintainer, drained: drained, debug: debug, profiles: profiles,
		backedUp: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "hopgate_backup_last_success_timestamp_seconds",
			Help: "When the snapshot of the last backup that this process has served and that was completed was taken, in Unix time, by graph.",
		}, []string{"graph"}),
	}
}

func (s *adminService) Schema(ctx context.Context, req *pb.SchemaRequest) (*pb.SchemaResponse, error) {
	sch, err := s.e.Schema(ctx, req.GetGraph())
	if err != nil {
		return nil, wire.GRPCError(err)
	}
	out := &pb.SchemaResponse{Properties: sch.Props, Labels: namesProto(sch.Labels), EdgeTypes: namesProto(sch.Types)}
	for _, ix := range sch.Indexes {
		index := &pb.Index{
			Name: ix.Name, Label: ix.Label, Type: ix.Type, Properties: ix.Props, Unique: ix.Unique, Required: ix.Required, Online: ix.Online,
			Kind: ix.Kind.String(),
		}
		if v := &ix.Vector; ix.Kind == graph.VectorIndex {
			index.Vector = &pb.VectorOptions{
				Dimensions: uint32(v.Dimensions), SimilarityFunction: v.Similarity.String(), QuantizationEnabled: v.Quantized,
			}
			if v.HNSW {
				index.Vector.HnswM, index.Vector.HnswEfConstruction = uint32(v.M), uint32(v.EfConstruction)
			}
		}
		if o := &ix.Text; ix.Kind == graph.FullTextIndex {
			index.FullText = &pb.FullTextOptions{More: o.More, Analyzer: o.Analyzer, EventuallyConsistent: o.Eventual}
		}
		out.Indexes = append(out.Indexes, index)
	}
	return out, nil
}

// Stats returns a graph's counts and the shapes of its shards.
func (s *adminService) Stats(ctx context.Context, req *pb.StatsRequest) (*pb.StatsResponse, error) {
	sch, err := s.e.Schema(ctx, req.GetGraph())
	if err != nil {
		return nil, wire.GRPCError(err)
	}
	out := &pb.StatsResponse{
		Vertices: sch.Vertices, Edges: sch.Edges, Labels: namesProto(sch.Labels), EdgeTypes: namesProto(sch.Types),
		Distinct: namesProto(sch.Distinct),
	}
	for _, d := range sch.Degrees {
		out.Degrees = append(out.Degrees, &pb.DegreeHistogram{EdgeType: d.Type, Incoming: d.Dir == graph.In, Vertices: d.Vertices})
	}
	for _, p := range sch.PropCounts {
		out.Properties = append(out.Properties, &pb.PropertyCount{Label: p.Label, EdgeType: p.Type, Property: p.Prop, Count: p.Count})
	}
	if s.store == nil {
		return out, nil
	}
	name := req.GetGraph()
	if name == "" {
		name = query.DefaultGraph
	}
	shapes, err := telemetry.Shapes(ctx, s.store, name)
	if err != nil {
		return nil, wire.GRPCError(err)
	}
	for i := range shapes {
		sh := &shapes[i]
		g, v := &sh.Graph, &sh.Values
		p := &pb.ShardStats{
			Shard: uint32(sh.Shard), DiskBytes: g.DiskBytes + v.DiskBytes, Levels: uint32(max(g.DeepLevels(), v.DeepLevels())),
			ReadAmplification: uint64(g.ReadAmplification), WriteAmplification: g.WriteAmplification(),
			SeparatedLiveBytes: v.SeparatedLive, SeparatedDeadBytes: v.SeparatedDead,
			BlockCacheBytes: uint64(g.BlockBytes), BlockReadBytes: g.BlockRead + v.BlockRead, BlockFoundBytes: g.BlockFound + v.BlockFound,
			TopologyCacheBytes: uint64(sh.Cache.Used), TopologyCacheHits: sh.Topology.Hits, TopologyCacheMisses: sh.Topology.Misses + sh.Topology.Stale,
			Stores: []*pb.StoreStats{storeProto("graph", g), storeProto("values", v)},
		}
		out.Shards = append(out.Shards, p)
	}
	if out.Members, err = s.replicas(ctx); err != nil {
		return nil, wire.GRPCError(err)
	}
	return out, nil
}

func storeProto(name string, s *telemetry.StoreStats) *pb.StoreStats {
	out := &pb.StoreStats{
		Name: name, DiskBytes: s.DiskBytes, ReadAmplification: uint64(s.ReadAmplification), WriteAmplification: s.WriteAmplification(),
	}
	for i := range s.Levels {
		l := &s.Levels[i]
		out.Levels = append(out.Levels, &pb.LevelStats{Files: uint64(l.Tables), Bytes: uint64(l.Bytes), ReadAmplification: uint64(l.Sublevels)})
	}
	return out
}

func namesProto(ns []schema.NameCount) []*pb.NameCount {
	out := make([]*pb.NameCount, len(ns))
	for i, n := range ns {
		out[i] = &pb.NameCount{Name: n.Name, Count: n.Count}
	}
	return out
}

func (s *adminService) RunningQueries(ctx context.Context, _ *pb.RunningQueriesRequest) (*pb.RunningQueriesResponse, error) {
	out := &pb.RunningQueriesResponse{}
	for _, q := range s.e.Running(ctx) {
		out.Queries = append(out.Queries, &pb.RunningQuery{
			Id: q.ID, Graph: q.Graph, Statement: q.Statement, Start: timestamppb.New(q.Start),
			Elapsed: durationpb.New(time.Since(q.Start)), Rows: uint64(q.Rows()),
			Connection: q.Session().ID, Client: q.Session().Address, Agent: q.Session().Agent,
		})
	}
	return out, nil
}

func (s *adminService) KillQuery(ctx context.Context, req *pb.KillQueryRequest) (*pb.KillQueryResponse, error) {
	return &pb.KillQueryResponse{Killed: s.e.Kill(ctx, req.GetId())}, nil
}

func (s *adminService) SlowLog(_ context.Context, req *pb.SlowLogRequest) (*pb.SlowLogResponse, error) {
	out := &pb.SlowLogResponse{}
	for i, q := range s.e.SlowLog().All() {
		if limit := int(req.GetLimit()); limit > 0 && i >= limit {
			break
		}
		entry := &pb.SlowQuery{
			Graph: q.Graph, Statement: q.Statement, Start: timestamppb.New(q.Start), Elapsed: durationpb.New(q.Elapsed),
			Rows: uint64(q.Rows), Plan: summary.PlanProto(q.Plan), Fingerprint: q.Fingerprint, Cost: summary.CostProto(&q.Took),
		}
		if q.Err != nil {
			entry.Error = q.Err.Error()
		}
		out.Queries = append(out.Queries, entry)
	}
	return out, nil
}

func (s *adminService) Version(context.Context, *pb.VersionRequest) (*pb.VersionResponse, error) {
	return &pb.VersionResponse{Version: version.Number, Commit: version.Commit(), GoVersion: runtime.Version()}, nil
}
