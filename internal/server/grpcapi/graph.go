package grpcapi

import (
	"cmp"
	"context"
	"net/url"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/cost"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/asof"
	"github.com/hopgate/hopgate/internal/query/page"
	"github.com/hopgate/hopgate/internal/query/trusted"
	"github.com/hopgate/hopgate/internal/server/feed"
	"github.com/hopgate/hopgate/internal/server/mcpapi"
	"github.com/hopgate/hopgate/internal/server/summary"
	"github.com/hopgate/hopgate/internal/server/wire"
)

const (
	// rowBytes is the target size of a message of rows.
	rowBytes = 512 << 10
	// maxMessage bounds the rows in a message: gRPC's default limit, 4 MiB, minus the bytes around the rows.
	maxMessage = 4<<20 - 64
)

// graphService implements GraphService.
type graphService struct {
	pb.UnimplementedGraphServiceServer
	e       *query.Engine
	agents  *mcpapi.Handler
	feeds   *feed.Feeds
	idle    time.Duration   // of explicit transactions
	drained context.Context // ends when the server drains
}

// Query runs a statement and streams its rows; nothing if the client has them.
func (s *graphService) Query(req *pb.QueryRequest, stream grpc.ServerStreamingServer[pb.QueryResponse]) error {
	q, err := requestOf(req, s.e.Charge(stream.Context()))
	if err != nil {
		return wire.GRPCError(err)
	}
	ctx, err := asof.With(stream.Context(), "at", req.GetAt())
	if err != nil {
		return wire.GRPCError(err)
	}
	if q.Limits, err = limits(ctx); err != nil {
		return wire.GRPCError(err)
	}
	pg, err := page.New("page_size", int64(req.GetPageSize()), req.GetPageToken())
	if err != nil {
		return wire.GRPCError(err)
	}
	q.SetPage(pg)
	if claims := req.GetAsClaims(); claims != "" {
		if ctx, err = access.As(ctx, cmp.Or(q.Graph, query.DefaultGraph), claims); err != nil {
			return wire.GRPCError(err)
		}
		q.ReadOnly = true
	}
	if err := reached(ctx, s.e, q.Graph); err != nil {
		return wire.GRPCError(err)
	}
	q.Condition = condition(ctx)
	res, err := s.e.Query(ctx, q)
	if err != nil {
		return wire.GRPCError(err)
	}
	defer end(stream, res)
	if q.Condition == nil || !q.Condition.Unmodified {
		err = sendResult(res, &answer{stream: stream})
	}
	if err == nil {
		stream.SetTrailer(tagTrailer(q.Condition))
	}
	return err
}

// Agent answers a message of the Model Context Protocol.
func (s *graphService) Agent(ctx context.Context, req *pb.AgentRequest) (*pb.AgentResponse, error) {
	options := url.Values{}
	for name, value := range map[string]string{"graph": req.GetGraph(), "profile": req.GetProfile()} {
		if value != "" {
			options.Set(name, value)
		}
	}
	if n := req.GetTokens(); n > 0 {
		options.Set("tokens", strconv.FormatUint(uint64(n), 10))
	}
	message, err := s.agents.Message(ctx, req.GetMessage(), options)
	if err != nil {
		return nil, wire.GRPCError(err)
	}
	return &pb.AgentResponse{Message: message}, nil
}

// requestOf converts a request to that of the engine.
func requestOf(req *pb.QueryRequest, charge *memory.Charge) (q query.Request, err error) {
	q = query.Request{
		Statement: req.GetStatement(), Graph: req.GetGraph(), ReadOnly: req.GetAccessMode() == pb.AccessMode_ACCESS_MODE_READ,
		MaxRows: int64(min(req.GetMaxRows(), 1<<62)),
	}
	if q.Timeout, err = timeoutOf(req.GetTimeout()); err != nil {
		return q, err
	}
	if q.Stale, err = durationOf("max_staleness", req.GetMaxStaleness()); err != nil {
		return q, err
	}
	switch name, hash := req.GetOperation(), req.GetOperationHash(); {
	case name == "" && hash == "":
		err = wire.CheckStatement(q.Statement)
	case name != "" && hash != "" || q.Statement != "":
		err = wire.RequestError("operation, operation_hash, statement: a request has one of them")
	default:
		q.Operation = &trusted.Call{Name: name, Hash: hash}
	}
	if err != nil {
		return q, err
	}
	q.Params, err = wire.ParamsFromProto(req.GetParameters(), charge)
	return q, err
}

// resultSender sends the parts of a result. size is that of the rows in protocol buffers.
type resultSender interface {
	begin(columns []string) error
	rows(rows *pb.RowBatch, size int) error
	end(s *pb.QuerySummary) error
}

// sendResult sends a result: its columns, rows and summary. The columns wait for the first rows, so that a short response needs one write
// and wakes the client once.
func sendResult(res *query.Result, to resultSender) error {
	b, err := res.Next()
	if err != nil {
		return wire.GRPCError(err)
	}
	if err := to.begin(res.Columns); err != nil {
		return err
	}
	for b != nil {
		if err := sendRows(res, to, b, 0, b.N); err != nil {
			return err
		}
		if b, err = res.Next(); err != nil {
			return wire.GRPCError(err)
		}
	}
	return to.end(summary.Proto(res.Summary()))
}

// sendRows sends rows in messages of about rowBytes. A row that exceeds a message is an error.
func sendRows(res *query.Result, out resultSender, b *graph.Batch, from, to int) error {
	rows := wire.RowsProto(b, from, to)
	size := proto.Size(rows)
	if size > rowBytes && to-from > 1 {
		mid := (from + to) / 2
		if err := sendRows(res, out, b, from, mid); err != nil {
			return err
		}
		return sendRows(res, out, b, mid, to)
	}
	if size > maxMessage {
		return wire.GRPCError(graph.BudgetError("a row of %d bytes is larger than the maximum gRPC message, %d bytes; HTTP has no such limit", size, maxMessage))
	}
	res.Sent(size)
	res.Sending()
	return out.rows(rows, size)
}

// Fetch runs a JSON-array fetch and streams its text. As over HTTP, the text reports a failure; only a failure after the first chunk fails
// the call.
func (s *graphService) Fetch(req *pb.FetchRequest, stream grpc.ServerStreamingServer[pb.FetchResponse]) error {
	timeout, err := timeoutOf(req.GetTimeout())
	if err != nil {
		return wire.GRPCError(err)
	}
	stale, err := durationOf("max_staleness", req.GetMaxStaleness())
	if err != nil {
		return wire.GRPCError(err)
	}
	most, err := maxCost(stream.Context())
	if err != nil {
		return wire.GRPCError(err)
	}
	var took cost.Told
	q := query.FetchRequest{Graph: req.GetGraph(), Method: req.GetMethod(), Body: req.GetRequest(), Timeout: timeout, Stale: stale, Units: most, Took: &took}
	var snapshot string
	q.Snapshot = &snapshot
	if err := reached(stream.Context(), s.e, q.Graph); err != nil {
		return wire.GRPCError(err)
	}
	switch name, hash := req.GetOperation(), req.GetOperationHash(); {
	case name == "" && hash == "":
		q.Method = cmp.Or(q.Method, "get")
	case name != "" && hash != "" || len(q.Body) > 0:
		return wire.GRPCError(wire.RequestError("operation, operation_hash, request: a fetch has one of them"))
	default:
		q.Operation = &trusted.Call{Name: name, Hash: hash}
		if q.Params, err = wire.ParamsFromProto(req.GetParameters(), s.e.Charge(stream.Context())); err != nil {
			return wire.GRPCError(err)
		}
	}
	ctx, err := asof.With(stream.Context(), "at", req.GetAt())
	if err != nil {
		return wire.GRPCError(err)
	}
	if q.Page, err = page.New("page_size", int64(req.GetPageSize()), req.GetPageToken()); err != nil {
		return wire.GRPCError(err)
	}
	q.Condition = condition(ctx)
	code, err := s.e.Fetch(ctx, q, chunks{stream})
	stream.SetTrailer(costTrailer(&took))
	stream.SetTrailer(snapshotTrailer(snapshot))
	if err != nil {
		return wire.GRPCError(err)
	}
	stream.SetTrailer(tagTrailer(q.Condition))
	if q.Condition != nil && q.Condition.Unmodified {
		return nil
	}
	return stream.Send(&pb.FetchResponse{Code: uint32(code), Cost: summary.CostProto(&took), NextPageToken: q.Page.Next()})
}

// timeoutOf converts a timeout; an absent one is 0.
func timeoutOf(d *durationpb.Duration) (time.Duration, error) { return durationOf("timeout", d) }

// durationOf converts the duration of a field; unset is 0.
func durationOf(field string, d *durationpb.Duration) (time.Duration, error) {
	if d == nil {
		return 0, nil
	}
	if err := d.CheckValid(); err != nil || d.AsDuration() < 0 {
		return 0, wire.RequestError(field + ": must be a duration from 0")
	}
	return d.AsDuration(), nil
}

// chunks sends everything written to it.
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
