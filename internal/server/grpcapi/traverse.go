package grpcapi

import (
	"fmt"
	"unsafe"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/query/traverse"
	"github.com/hopgate/hopgate/internal/server/summary"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// Traverse traverses edges from the selected vertices, hop by hop, and streams rows.
func (s *graphService) Traverse(req *pb.TraverseRequest, stream grpc.ServerStreamingServer[pb.TraverseResponse]) error {
	charge := s.e.Charge(stream.Context())
	from, err := selectorOf(req.GetFrom(), "from", charge)
	if err != nil {
		return wire.GRPCError(err)
	}
	hops, err := hopsOf(req.GetHops())
	if err != nil {
		return wire.GRPCError(err)
	}
	mode, ok := traverseModes[req.GetMode()]
	if !ok {
		return wire.GRPCError(wire.RequestError(fmt.Sprintf("mode: %d is unknown", req.GetMode())))
	}
	t := &traverse.Traversal{
		From: from, Hops: hops, Min: req.MinHops, Max: req.GetMaxHops(), Mode: mode,
		Returns: req.GetReturns(), Distinct: req.GetDistinct(), ByHop: req.GetByHop(), Limit: req.GetLimit(), Seed: req.GetSeed(),
		Partial: req.GetBudget().GetPartial(),
	}
	if r := req.GetRank(); r != nil {
		if t.Rank, err = traverse.NewRank(r.GetProperty(), r.GetSimilarity(), r.GetVector()); err != nil {
			return wire.GRPCError(err)
		}
	}
	res, err := s.typed(stream, req, t, charge)
	if err != nil {
		return wire.GRPCError(err)
	}
	defer end(stream, res)
	if err := stream.Send(&pb.TraverseResponse{Part: &pb.TraverseResponse_Header{Header: &pb.TraverseHeader{Fields: res.Columns}}}); err != nil {
		return err
	}
	if err := eachPart(res, func(b *graph.Batch, from, to int) *pb.TraverseResponse {
		return &pb.TraverseResponse{Part: &pb.TraverseResponse_Rows{Rows: wire.RowsProto(b, from, to)}}
	}, stream.Send); err != nil {
		return err
	}
	return stream.Send(&pb.TraverseResponse{Part: &pb.TraverseResponse_Summary{Summary: traverseSummary(res.Summary())}})
}

// ShortestPath finds paths and streams them.
func (s *graphService) ShortestPath(req *pb.ShortestPathRequest, stream grpc.ServerStreamingServer[pb.PathResponse]) error {
	charge := s.e.Charge(stream.Context())
	hop, err := hopOf(req.GetHop(), "hop.")
	if err != nil {
		return wire.GRPCError(err)
	}
	p := &traverse.Paths{Hop: hop, MaxHops: req.GetMaxHops(), All: req.GetAll(), K: req.GetK(), Weight: req.GetWeight()}
	if p.From, err = selectorOf(req.GetFrom(), "from", charge); err != nil {
		return wire.GRPCError(err)
	}
	if p.To, err = selectorOf(req.GetTo(), "to", charge); err != nil {
		return wire.GRPCError(err)
	}
	res, err := s.typed(stream, req, p, charge)
	if err != nil {
		return wire.GRPCError(err)
	}
	defer end(stream, res)
	if err := eachPart(res, func(b *graph.Batch, from, to int) *pb.PathResponse {
		out := &pb.PathBatch{}
		for i := from; i < to; i++ {
			if v := b.Cols[0].Value(i); v.Kind() == graph.PathKind {
				out.Paths = append(out.Paths, &pb.FoundPath{Path: wire.ToProto(v).GetPath(), Weight: b.Cols[1].Value(i).Number()})
			}
		}
		return &pb.PathResponse{Part: &pb.PathResponse_Paths{Paths: out}}
	}, stream.Send); err != nil {
		return err
	}
	return stream.Send(&pb.PathResponse{Part: &pb.PathResponse_Summary{Summary: traverseSummary(res.Summary())}})
}

// Subgraph streams layers.
func (s *graphService) Subgraph(req *pb.SubgraphRequest, stream grpc.ServerStreamingServer[pb.SubgraphLayer]) error {
	charge := s.e.Charge(stream.Context())
	from, err := selectorOf(req.GetFrom(), "from", charge)
	if err != nil {
		return wire.GRPCError(err)
	}
	hops, err := hopsOf(req.GetHops())
	if err != nil {
		return wire.GRPCError(err)
	}
	g := &traverse.Subgraph{From: from, Hops: hops, Max: req.GetMaxHops()}
	res, err := s.typed(stream, req, g, charge)
	if err != nil {
		return wire.GRPCError(err)
	}
	defer end(stream, res)
	layer := func(m *pb.SubgraphLayer, size int) error {
		res.Sent(size)
		return stream.Send(m)
	}
	for {
		b, err := res.Next()
		if err != nil {
			return wire.GRPCError(err)
		}
		if b == nil {
			break
		}
		res.Sending()
		for from := 0; from < b.N; {
			to := from + 1 // the rows of one layer
			step := b.Cols[0].Value(from).Int()
			for to < b.N && b.Cols[0].Value(to).Int() == step {
				to++
			}
			if err := sendHalves(b, from, to, layerProto, layer); err != nil {
				return err
			}
			from = to
		}
	}
	return stream.Send(&pb.SubgraphLayer{Summary: traverseSummary(res.Summary())})
}

// layerProto packs rows of one layer.
func layerProto(b *graph.Batch, from, to int) *pb.SubgraphLayer {
	out := &pb.SubgraphLayer{Step: uint32(b.Cols[0].Value(from).Int())}
	for i := from; i < to; i++ {
		if v := b.Cols[1].Value(i); !v.IsNull() {
			out.Vertices = append(out.Vertices, wire.VertexProto(v))
		}
		if e := b.Cols[2].Value(i); !e.IsNull() {
			out.Edges = append(out.Edges, wire.EdgeProto(e.Edge()))
		}
	}
	return out
}

// GetVertices streams vertices.
func (s *graphService) GetVertices(req *pb.GetVerticesRequest, stream grpc.ServerStreamingServer[pb.VertexBatch]) error {
	charge := s.e.Charge(stream.Context())
	from, err := selectorOf(req.GetFrom(), "from", charge)
	if err != nil {
		return wire.GRPCError(err)
	}
	v := &traverse.Vertices{From: from, Properties: req.GetProperties()}
	res, err := s.typed(stream, req, v, charge)
	if err != nil {
		return wire.GRPCError(err)
	}
	defer end(stream, res)
	return eachPart(res, func(b *graph.Batch, from, to int) *pb.VertexBatch {
		out := &pb.VertexBatch{}
		for i := from; i < to; i++ {
			out.Vertices = append(out.Vertices, foundVertex(b, i, v.Properties))
		}
		return out
	}, stream.Send)
}

// foundVertex returns the vertex of a row: all of it, or those of the named properties that it has.
func foundVertex(b *graph.Batch, row int, properties []string) *pb.Vertex {
	if len(properties) == 0 {
		return wire.VertexProto(b.Cols[0].Value(row))
	}
	out := &pb.Vertex{ElementId: b.Cols[0].Value(row).Str()}
	for _, l := range b.Cols[1].Value(row).List() {
		out.Labels = append(out.Labels, l.Str())
	}
	for k, name := range properties {
		if x := b.Cols[2+k].Value(row); !x.IsNull() {
			out.Properties = append(out.Properties, &pb.MapEntry{Key: name, Value: wire.ToProto(x)})
		}
	}
	return out
}

// GetEdges streams edges.
func (s *graphService) GetEdges(req *pb.GetEdgesRequest, stream grpc.ServerStreamingServer[pb.EdgeBatch]) error {
	charge := s.e.Charge(stream.Context())
	hop, err := hopOf(req.GetHop(), "hop.")
	if err != nil {
		return wire.GRPCError(err)
	}
	e := &traverse.Edges{Hop: hop, IDs: req.GetElementIds().GetIds()}
	for _, end := range []struct {
		in   *pb.VertexSelector
		out  **traverse.Selector
		name string
	}{{req.GetFrom(), &e.From, "from"}, {req.GetTo(), &e.To, "to"}} {
		if end.in == nil {
			continue
		}
		sel, err := selectorOf(end.in, end.name, charge)
		if err != nil {
			return wire.GRPCError(err)
		}
		*end.out = &sel
	}
	res, err := s.typed(stream, req, e, charge)
	if err != nil {
		return wire.GRPCError(err)
	}
	defer end(stream, res)
	return eachPart(res, func(b *graph.Batch, from, to int) *pb.EdgeBatch {
		out := &pb.EdgeBatch{}
		for i := from; i < to; i++ {
			out.Edges = append(out.Edges, wire.EdgeProto(b.Cols[0].Value(i).Edge()))
		}
		return out
	}, stream.Send)
}

// typedRequest is the common part of typed requests.
type typedRequest interface {
	GetGraph() string
	GetParameters() map[string]*pb.Value
	GetBudget() *pb.RequestBudget
	GetMaxStaleness() *durationpb.Duration
	GetAt() string
}

// typed runs a typed request, whose values charge counts.
func (s *graphService) typed(stream grpc.ServerStream, req typedRequest, t query.Typed, charge *memory.Charge) (*query.Result, error) {
	b := req.GetBudget()
	timeout, err := timeoutOf(b.GetTimeout())
	if err != nil {
		return nil, err
	}
	stale, err := durationOf("max_staleness", req.GetMaxStaleness())
	if err != nil {
		return nil, err
	}
	most, err := maxCost(stream.Context())
	if err != nil {
		return nil, err
	}
	if err := reached(stream.Context(), s.e, req.GetGraph()); err != nil {
		return nil, err
	}
	values, err := wire.ParamsFromProto(req.GetParameters(), charge)
	if err != nil {
		return nil, err
	}
	return s.e.Traverse(stream.Context(), query.TypedRequest{Graph: req.GetGraph(), At: req.GetAt(), Typed: t, Params: values, Stale: stale, Limits: query.Limits{
		Visits: int64(min(b.GetMaxVisits(), 1<<62)), Rows: int64(min(b.GetMaxRows(), 1<<62)),
		Bytes: int64(min(b.GetMaxBytes(), 1<<62)), Timeout: timeout, Partial: b.GetPartial(), Units: most,
	}})
}

// eachPart sends all batches of a result.
func eachPart[M proto.Message](res *query.Result, part func(b *graph.Batch, from, to int) M, send func(M) error) error {
	for {
		b, err := res.Next()
		if err != nil {
			return wire.GRPCError(err)
		}
		if b == nil {
			return nil
		}
		res.Sending()
		counted := func(m M, size int) error {
			res.Sent(size)
			return send(m)
		}
		if err := sendHalves(b, 0, b.N, part, counted); err != nil {
			return err
		}
	}
}

// sendHalves sends rows in messages of about rowBytes. A row that exceeds a message is an error.
func sendHalves[M proto.Message](b *graph.Batch, from, to int, part func(b *graph.Batch, from, to int) M, send func(m M, size int) error) error {
	m := part(b, from, to)
	size := proto.Size(m)
	if size > rowBytes && to-from > 1 {
		mid := (from + to) / 2
		if err := sendHalves(b, from, mid, part, send); err != nil {
			return err
		}
		return sendHalves(b, mid, to, part, send)
	}
	if size > maxMessage {
		return wire.GRPCError(graph.BudgetError("a row of %d bytes is larger than the maximum gRPC message, %d bytes; HTTP has no such limit", size, maxMessage))
	}
	return send(m, size)
}

func traverseSummary(s query.Summary) *pb.TraverseSummary {
	out := &pb.TraverseSummary{Rows: uint64(s.Rows), Truncated: s.Truncated, TruncatedReason: s.Reason, Notifications: summary.NotificationsProto(s.Notifications), Cost: summary.CostProto(&s.Cost)}
	for i, h := range s.Hops {
		out.Hops = append(out.Hops, &pb.HopCount{Hop: uint32(i + 1), Sources: uint64(h.Sources), Edges: uint64(h.Edges)})
	}
	return out
}

var traverseModes = map[pb.TraverseMode]plan.TraverseMode{
	pb.TraverseMode_TRAVERSE_MODE_UNSPECIFIED: plan.ModeFrontier, pb.TraverseMode_TRAVERSE_MODE_FRONTIER: plan.ModeFrontier,
	pb.TraverseMode_TRAVERSE_MODE_WALK: plan.ModeWalk, pb.TraverseMode_TRAVERSE_MODE_TRAIL: plan.ModeTrail,
	pb.TraverseMode_TRAVERSE_MODE_ACYCLIC: plan.ModeAcyclic, pb.TraverseMode_TRAVERSE_MODE_NEAREST: plan.ModeNearest,
}

var directions = map[pb.Direction]graph.Direction{
	pb.Direction_DIRECTION_UNSPECIFIED: graph.Out, pb.Direction_DIRECTION_OUT: graph.Out,
	pb.Direction_DIRECTION_IN: graph.In, pb.Direction_DIRECTION_BOTH: graph.Both,
}

// selectorOf converts a selector; an absent one is empty, which the request's validation rejects.
func selectorOf(in *pb.VertexSelector, field string, charge *memory.Charge) (s traverse.Selector, err error) {
	switch by := in.GetBy().(type) {
	case *pb.VertexSelector_Key:
		s.Label, s.Property = by.Key.GetLabel(), by.Key.GetProperty()
		if err := charge.Add(len(by.Key.GetValues()) * int(unsafe.Sizeof(graph.Value{}))); err != nil {
			return s, err
		}
		s.Values = make([]graph.Value, 0, len(by.Key.GetValues()))
		for _, v := range by.Key.GetValues() {
			x, err := wire.FromProto(v, 0, charge)
			if err != nil {
				return s, wire.BadParams(field+".values: ", err)
			}
			s.Values = append(s.Values, x)
		}
	case *pb.VertexSelector_Statement:
		s.Statement = by.Statement
		return s, wire.CheckStatement(s.Statement)
	case *pb.VertexSelector_ElementIds:
		s.IDs = by.ElementIds.GetIds()
	}
	return s, nil
}

func hopOf(h *pb.Hop, field string) (traverse.Hop, error) {
	d, ok := directions[h.GetDirection()]
	if !ok {
		return traverse.Hop{}, wire.RequestError(fmt.Sprintf("%sdirection: %d is unknown", field, h.GetDirection()))
	}
	return traverse.Hop{
		Field: field, Types: h.GetTypes(), Direction: d, Where: h.GetWhere(), SkipSupernodes: h.GetSkipSupernodes(),
		MaxDegree: h.GetMaxDegree(), Sample: h.GetSample(), Limit: h.GetLimit(),
	}, nil
}

func hopsOf(in []*pb.Hop) ([]traverse.Hop, error) {
	out := make([]traverse.Hop, len(in))
	for i, h := range in {
		var err error
		if out[i], err = hopOf(h, fmt.Sprintf("hops[%d].", i)); err != nil {
			return nil, err
		}
	}
	return out, nil
}
