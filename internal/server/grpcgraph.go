package server

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/exec"
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
	e       *query.Engine
	idle    time.Duration   // of an explicit transaction
	drained context.Context // ends when the server drains
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
	if q.Params, err = paramsOf(req.GetParameters()); err != nil {
		return grpcError(err)
	}
	res, err := s.e.Query(stream.Context(), q)
	if err != nil {
		return grpcError(err)
	}
	defer res.Close()
	return sendResult(res, stream.Send)
}

// paramsOf reads the parameters of a statement.
func paramsOf(in map[string]*pb.Value) (map[string]graph.Value, error) {
	if len(in) == 0 {
		return nil, nil
	}
	out := make(map[string]graph.Value, len(in))
	for name, p := range in {
		v, err := fromProto(p, 0)
		if err != nil {
			return nil, requestError("parameters." + name + ": " + err.Error())
		}
		out[name] = v
	}
	return out, nil
}

// sendResult sends all of a result: its columns, its rows, its summary. The columns wait for the first rows, so that a
// short answer leaves in one write and wakes the client once.
func sendResult(res *query.Result, send func(*pb.QueryResponse) error) error {
	b, err := res.Next()
	if err != nil {
		return grpcError(err)
	}
	header := &pb.QueryResponse{Part: &pb.QueryResponse_Header{Header: &pb.QueryHeader{Fields: res.Columns}}}
	if err := send(header); err != nil {
		return err
	}
	rows := func(m *pb.QueryResponse) error {
		res.Sending()
		return send(m)
	}
	for b != nil {
		if err := sendRows(rows, b, 0, b.N); err != nil {
			return err
		}
		if b, err = res.Next(); err != nil {
			return grpcError(err)
		}
	}
	return send(&pb.QueryResponse{Part: &pb.QueryResponse_Summary{Summary: summaryProto(res.Summary())}})
}

// sendRows sends rows in messages of about rowBytes. A row that does not fit into a message is an error.
func sendRows(send func(*pb.QueryResponse) error, b *graph.Batch, from, to int) error {
	rows := rowsProto(b, from, to)
	size := proto.Size(rows)
	if size > rowBytes && to-from > 1 {
		mid := (from + to) / 2
		if err := sendRows(send, b, from, mid); err != nil {
			return err
		}
		return sendRows(send, b, mid, to)
	}
	if size > maxMessage {
		return grpcError(graph.BudgetError("a row of %d bytes is larger than a gRPC message may be, %d bytes; HTTP has no such limit", size, maxMessage))
	}
	return send(&pb.QueryResponse{Part: &pb.QueryResponse_Rows{Rows: rows}})
}

func summaryProto(s query.Summary) *pb.QuerySummary {
	out := &pb.QuerySummary{
		Counters: countersProto(s.Counters, s.Schema),
		Plan:     planProto(s.Plan), Truncated: s.Truncated,
	}
	if s.Truncated {
		out.TruncatedReason = "max_rows"
	}
	return out
}

func countersProto(c exec.Counters, s query.SchemaCounters) *pb.Counters {
	return &pb.Counters{
		ContainsUpdates: c.ContainsUpdates() || s != query.SchemaCounters{},
		NodesCreated:    uint64(c.NodesCreated), NodesDeleted: uint64(c.NodesDeleted),
		RelationshipsCreated: uint64(c.RelationshipsCreated), RelationshipsDeleted: uint64(c.RelationshipsDeleted),
		PropertiesSet: uint64(c.PropertiesSet), LabelsAdded: uint64(c.LabelsAdded), LabelsRemoved: uint64(c.LabelsRemoved),
		IndexesAdded: uint64(s.IndexesAdded), IndexesRemoved: uint64(s.IndexesRemoved),
		ConstraintsAdded: uint64(s.ConstraintsAdded), ConstraintsRemoved: uint64(s.ConstraintsRemoved),
	}
}

func planProto(p *query.PlanNode) *pb.PlanNode {
	if p == nil {
		return nil
	}
	out := &pb.PlanNode{Operator: p.Operator, Arguments: p.Args}
	if p.Estimate >= 0 {
		out.EstimatedRows = &p.Estimate
	}
	if p.Profiled {
		out.Bytes, out.Memory, out.Spilled = uint64(p.Bytes), uint64(p.Memory), uint64(p.Spilled)
		out.Rows, out.Batches, out.ShardRequests = uint64(p.Rows), uint64(p.Batches), uint64(p.Requests)
		out.Time = durationpb.New(p.Time.Round(time.Nanosecond))
		if p.Metered {
			out.CacheHits, out.CacheMisses = new(uint64(p.Hits)), new(uint64(p.Misses))
			out.LargeValues = new(uint64(p.Large))
		}
		if p.Wired {
			out.WireRequests, out.WireSent = new(uint64(p.Calls)), new(uint64(p.Sent))
			out.WireReceived, out.Edges = new(uint64(p.Received)), new(uint64(p.Edges))
		}
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
