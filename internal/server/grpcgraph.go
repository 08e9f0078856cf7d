package server

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
)

const (
	// rowBytes is about what a message of rows holds.
	rowBytes = 512 << 10
	// maxMessage is the most that one message holds: gRPC's default limit, 4 MiB, less what goes around the rows.
	maxMessage = 4<<20 - 64
)

// graphService answers GraphService.
type graphService struct {
	pb.UnimplementedGraphServiceServer
	e *query.Engine
}

// Query runs a statement and streams its rows.
func (s *graphService) Query(req *pb.QueryRequest, stream grpc.ServerStreamingServer[pb.QueryResponse]) error {
	timeout, err := timeoutOf(req.GetTimeout())
	if err != nil {
		return grpcError(err)
	}
	q := query.Request{
		Statement: req.GetStatement(), Graph: req.GetGraph(), ReadOnly: req.GetAccessMode() == pb.AccessMode_ACCESS_MODE_READ,
		MaxRows: int64(min(req.GetMaxRows(), 1<<62)), Timeout: timeout,
	}
	if err := checkStatement(q.Statement); err != nil {
		return grpcError(err)
	}
	if len(req.GetParameters()) > 0 {
		q.Params = make(map[string]graph.Value, len(req.GetParameters()))
		for name, p := range req.GetParameters() {
			v, err := fromProto(p, 0)
			if err != nil {
				return grpcError(requestError("parameters." + name + ": " + err.Error()))
			}
			q.Params[name] = v
		}
	}
	res, err := s.e.Query(stream.Context(), q)
	if err != nil {
		return grpcError(err)
	}
	defer res.Close()
	header := &pb.QueryResponse{Part: &pb.QueryResponse_Header{Header: &pb.QueryHeader{Fields: res.Columns}}}
	if err := stream.Send(header); err != nil {
		return err
	}
	for {
		b, err := res.Next()
		if err != nil {
			return grpcError(err)
		}
		if b == nil {
			break
		}
		if err := sendRows(stream, b, 0, b.N); err != nil {
			return err
		}
	}
	return stream.Send(&pb.QueryResponse{Part: &pb.QueryResponse_Summary{Summary: summaryProto(res.Summary())}})
}

// sendRows sends rows in messages of about rowBytes. A row that does not fit into a message is an error.
func sendRows(stream grpc.ServerStreamingServer[pb.QueryResponse], b *graph.Batch, from, to int) error {
	rows := rowsProto(b, from, to)
	size := proto.Size(rows)
	if size > rowBytes && to-from > 1 {
		mid := (from + to) / 2
		if err := sendRows(stream, b, from, mid); err != nil {
			return err
		}
		return sendRows(stream, b, mid, to)
	}
	if size > maxMessage {
		return grpcError(graph.BudgetError("a row of %d bytes is larger than a gRPC message may be, %d bytes; HTTP has no such limit", size, maxMessage))
	}
	return stream.Send(&pb.QueryResponse{Part: &pb.QueryResponse_Rows{Rows: rows}})
}

func summaryProto(s query.Summary) *pb.QuerySummary {
	c := s.Counters
	out := &pb.QuerySummary{
		Counters: &pb.Counters{
			ContainsUpdates: c.ContainsUpdates() || s.Schema != query.SchemaCounters{},
			NodesCreated:    uint64(c.NodesCreated), NodesDeleted: uint64(c.NodesDeleted),
			RelationshipsCreated: uint64(c.RelationshipsCreated), RelationshipsDeleted: uint64(c.RelationshipsDeleted),
			PropertiesSet: uint64(c.PropertiesSet), LabelsAdded: uint64(c.LabelsAdded), LabelsRemoved: uint64(c.LabelsRemoved),
			IndexesAdded: uint64(s.Schema.IndexesAdded), IndexesRemoved: uint64(s.Schema.IndexesRemoved),
			ConstraintsAdded: uint64(s.Schema.ConstraintsAdded), ConstraintsRemoved: uint64(s.Schema.ConstraintsRemoved),
		},
		Plan: planProto(s.Plan), Truncated: s.Truncated,
	}
	if s.Truncated {
		out.TruncatedReason = "max_rows"
	}
	return out
}

func planProto(p *query.PlanNode) *pb.PlanNode {
	if p == nil {
		return nil
	}
	out := &pb.PlanNode{Operator: p.Operator, Arguments: p.Args}
	if p.Profiled {
		out.Rows, out.Batches, out.ShardRequests = uint64(p.Rows), uint64(p.Batches), uint64(p.Requests)
		out.Time = durationpb.New(p.Time.Round(time.Nanosecond))
	}
	for _, c := range p.Children {
		out.Children = append(out.Children, planProto(c))
	}
	return out
}

// Fetch runs a JSON-array fetch and streams its text. A request that fails is answered by its text, as over HTTP; only a
// failure after the first chunk is the call's error.
func (s *graphService) Fetch(req *pb.FetchRequest, stream grpc.ServerStreamingServer[pb.FetchResponse]) error {
	method := req.GetMethod()
	if method == "" {
		method = "get"
	}
	timeout, err := timeoutOf(req.GetTimeout())
	if err != nil {
		return grpcError(err)
	}
	code, err := s.e.Fetch(stream.Context(), query.FetchRequest{
		Graph: req.GetGraph(), Method: method, Body: req.GetRequest(), Timeout: timeout,
	}, chunks{stream})
	if err != nil {
		return grpcError(err)
	}
	return stream.Send(&pb.FetchResponse{Code: uint32(code)})
}

// timeoutOf reads a timeout; none is 0.
func timeoutOf(d *durationpb.Duration) (time.Duration, error) {
	if d == nil {
		return 0, nil
	}
	if err := d.CheckValid(); err != nil || d.AsDuration() < 0 {
		return 0, requestError("timeout: must be a duration from 0")
	}
	return d.AsDuration(), nil
}

// chunks sends what is written to it.
type chunks struct {
	stream grpc.ServerStreamingServer[pb.FetchResponse]
}

func (c chunks) Write(p []byte) (int, error) {
	for n := 0; n < len(p); n += rowBytes {
		if err := c.stream.Send(&pb.FetchResponse{Chunk: p[n:min(n+rowBytes, len(p))]}); err != nil {
			return n, err
		}
	}
	return len(p), nil
}
