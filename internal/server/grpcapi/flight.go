package grpcapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	sqlpb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/asof"
	"github.com/hopgate/hopgate/internal/server/arrowstream"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/server/summary"
	"github.com/hopgate/hopgate/internal/server/wire"
	"github.com/hopgate/hopgate/internal/version"
)

const (
	// summaryKey is the metadata key of the summary after a statement's rows.
	summaryKey = "hopgate-summary"
	// recordBytes is the approximate limit of a message of rows, so that clients with gRPC's default limit can read it.
	recordBytes = maxMessage - 64<<10
)

// flightService answers Arrow Flight. A ticket or a command is one of Flight SQL, or the statement itself: its text, or the JSON
// object of plainRequest. Calls are independent: handles of Flight SQL contain the statement and its parameters, so several
// servers may answer calls with one handle.
type flightService struct {
	flight.FlightServer // Flight SQL but for DoGet: its rows would pass a channel, and their memory is used again
	e                   *query.Engine
	load                *loadService
	idle                time.Duration   // of explicit transactions
	drained             context.Context // ends when the server drains
}

// plainRequest is a statement with parameters, or a typed request, as a ticket or a command.
type plainRequest struct {
	Statement  string          `json:"statement"`
	Parameters json.RawMessage `json:"parameters"`
	Typed      bool            `json:"typedParameters"` // each parameter has its type, as in the media type of typed values over HTTP
	Graph      string          `json:"graph"`
	AccessMode string          `json:"accessMode"`
	TimeoutMs  int64           `json:"timeoutMs"`
	MaxRows    int64           `json:"maxRows"`
	// At is a moment that the statement reads; a typed request has it in its body.
	At string `json:"at"`
	// Elements is how vertices and edges come: "" or "json", with properties as JSON text; "structs", with a field for each property.
	Elements string `json:"elements"`
	// Route and Body are a typed request: the name of its route over HTTP, such as traverse, and its body. Statement is empty then.
	Route string          `json:"route"`
	Body  json.RawMessage `json:"body"`
}

func newFlightService(drained context.Context, e *query.Engine, load *loadService, idle time.Duration) *flightService {
	s := &sqlService{e: e}
	for id, value := range map[flightsql.SqlInfo]any{
		flightsql.SqlInfoFlightSqlServerName: "Hopgate", flightsql.SqlInfoFlightSqlServerVersion: version.Number,
		flightsql.SqlInfoFlightSqlServerArrowVersion: arrow.PkgVersion, flightsql.SqlInfoFlightSqlServerReadOnly: false,
		flightsql.SqlInfoFlightSqlServerSql: false, flightsql.SqlInfoFlightSqlServerSubstrait: false,
		flightsql.SqlInfoFlightSqlServerTransaction: int32(sqlpb.SqlSupportedTransaction_SQL_SUPPORTED_TRANSACTION_NONE),
		flightsql.SqlInfoFlightSqlServerCancel:      false,
	} {
		if err := s.RegisterSqlInfo(id, value); err != nil {
			panic(err) // a type that the library does not know
		}
	}
	return &flightService{flightsql.NewFlightServer(s), e, load, idle, drained}
}

// Handshake returns the header for the later calls of a client that has identified itself, by name and token too.
func (s *flightService) Handshake(stream flight.FlightService_HandshakeServer) error {
	md, _ := metadata.FromIncomingContext(stream.Context())
	headers := md.Get("authorization")
	if len(headers) > 0 {
		if _, token, ok := access.Basic(headers[0]); ok {
			headers = []string{"Bearer " + token}
		}
	}
	return stream.SendHeader(metadata.MD{"authorization": headers})
}

// GetFlightInfo returns the ticket of a statement, or of the vertices of a label or the edges of a type. The statement runs when the ticket
// is used, so its schema is not known before.
func (s *flightService) GetFlightInfo(ctx context.Context, d *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	switch {
	case d.GetType() == flight.DescriptorPATH:
		info, err := s.elementInfo(ctx, d.GetPath())
		if err != nil {
			return nil, wire.GRPCError(err)
		}
		return info, nil
	case d.GetType() != flight.DescriptorCMD:
		return nil, wire.GRPCError(wire.RequestError("the flight descriptor: must be a command that holds a statement, or a path"))
	case command(d.GetCmd()) != nil:
		return s.FlightServer.GetFlightInfo(ctx, d)
	}
	if _, err := requestIn(d.GetCmd(), s.e.Charge(ctx)); err != nil {
		return nil, wire.GRPCError(err)
	}
	return ticketInfo(d, d.GetCmd()), nil
}

func ticketInfo(d *flight.FlightDescriptor, ticket []byte) *flight.FlightInfo {
	return &flight.FlightInfo{
		FlightDescriptor: d, Endpoint: []*flight.FlightEndpoint{{Ticket: &flight.Ticket{Ticket: ticket}}}, TotalRecords: -1, TotalBytes: -1,
	}
}

// DoGet runs the statement of a ticket.
func (s *flightService) DoGet(ticket *flight.Ticket, stream flight.FlightService_DoGetServer) error {
	var req ticketRequest
	var err error
	ctx := stream.Context()
	charge := s.e.Charge(ctx)
	switch c := command(ticket.GetTicket()).(type) {
	case nil:
		req, err = requestIn(ticket.GetTicket(), charge)
	case *sqlpb.TicketStatementQuery:
		req.statement, err = handleRequest(c.GetStatementHandle(), charge)
	case *sqlpb.CommandPreparedStatementQuery:
		req.statement, err = handleRequest(c.GetPreparedStatementHandle(), charge)
	default:
		return s.FlightServer.DoGet(ticket, stream)
	}
	if err != nil {
		return wire.GRPCError(err)
	}
	res, err := s.open(ctx, &req)
	if err != nil {
		return wire.GRPCError(err)
	}
	defer end(stream, res)
	out := arrowstream.New(res.Columns, func(schema *arrow.Schema) (arrowstream.Sink, error) {
		return &flightSink{flight.NewRecordWriter(stream, ipc.WithSchema(schema)), res}, nil
	}, res.HoldBytes)
	out.Structs(req.structs)
	if err := out.Copy(res); err != nil {
		if errors.Is(err, arrowstream.ErrGone) {
			err = graph.DeadlineError(err)
		}
		return wire.GRPCError(err)
	}
	stream.SetTrailer(metadata.Pairs(summaryKey, summary.Text(res.Summary(), nil)))
	return nil
}

// open runs what a ticket asks for.
func (s *flightService) open(ctx context.Context, req *ticketRequest) (*query.Result, error) {
	if req.typed != nil {
		return s.e.Traverse(ctx, *req.typed)
	}
	ctx, err := asof.With(ctx, "at", req.at)
	if err != nil {
		return nil, err
	}
	return s.e.Query(ctx, req.statement)
}

// DoPut takes a load, or a command of Flight SQL with Arrow data.
func (s *flightService) DoPut(stream flight.FlightService_DoPutServer) error {
	put := &putStream{FlightService_DoPutServer: stream}
	first, err := put.Recv()
	if err != nil {
		return err
	}
	put.first = first
	if d := first.GetFlightDescriptor(); d.GetType() == flight.DescriptorCMD && command(d.GetCmd()) == nil {
		return s.putLoad(put, d.GetCmd())
	}
	return s.FlightServer.DoPut(put)
}

// putStream checks what the library expects of messages: the first has a descriptor, and all have sound metadata.
type putStream struct {
	flight.FlightService_DoPutServer
	begun bool
	first *flight.FlightData // received, and to be received again; or nil
}

func (s *putStream) Recv() (*flight.FlightData, error) {
	if m := s.first; m != nil {
		s.first = nil
		return m, nil
	}
	m, err := s.FlightService_DoPutServer.Recv()
	if err != nil {
		return nil, err
	}
	if !s.begun && m.GetFlightDescriptor() == nil {
		err = wire.RequestError("the first message: must have a descriptor that holds a command")
	} else {
		err = checkMetadata(m.GetDataHeader())
	}
	if err != nil {
		return nil, wire.GRPCError(err)
	}
	s.begun = true
	return m, nil
}

// flightSink sends record batches in messages that clients can read.
type flightSink struct {
	*flight.Writer
	res *query.Result
}

func (s *flightSink) Write(rec arrow.RecordBatch) error {
	s.res.Sending()
	rows, size := rec.NumRows(), int64(0)
	for _, c := range rec.Columns() {
		size += arraySize(c.Data())
	}
	s.res.Sent(int(size))
	step := max(1, rows*recordBytes/max(recordBytes, size))
	for from := int64(0); from < rows; from += step {
		part := rec.NewSlice(from, min(from+step, rows))
		err := s.Writer.Write(part)
		part.Release()
		if err != nil {
			return arrowstream.ErrGone
		}
	}
	return nil
}

// arraySize is the size of an array's buffers.
func arraySize(a arrow.ArrayData) (n int64) {
	for _, b := range a.Buffers() {
		if b != nil {
			n += int64(b.Len())
		}
	}
	for _, child := range a.Children() {
		n += arraySize(child)
	}
	return n
}

// command returns a command of Flight SQL, or nil if the bytes hold none.
func command(b []byte) proto.Message {
	var box anypb.Any
	if proto.Unmarshal(b, &box) != nil || !strings.HasPrefix(box.GetTypeUrl(), "type.googleapis.com/arrow.flight.protocol.sql.") {
		return nil
	}
	m, err := box.UnmarshalNew()
	if err != nil {
		return nil
	}
	return m
}

// ticketRequest is what a ticket asks for.
type ticketRequest struct {
	statement query.Request
	at        string              // the moment that the statement reads, or ""
	typed     *query.TypedRequest // in place of a statement; or nil
	structs   bool                // vertices and edges have a field for each property
}

// requestIn reads a statement, or a plainRequest.
func requestIn(b []byte, charge *memory.Charge) (req ticketRequest, err error) {
	text := bytes.TrimSpace(b)
	if len(text) == 0 || text[0] != '{' {
		req.statement.Statement = string(b)
		return req, wire.CheckStatement(req.statement.Statement)
	}
	var p plainRequest
	if err := wire.DecodeJSON(text, true, &p); err != nil {
		return req, err
	}
	return p.ticket(charge)
}

// ticket returns what a request asks for.
func (p *plainRequest) ticket(charge *memory.Charge) (req ticketRequest, err error) {
	switch p.Elements {
	case "", "json":
	case "structs":
		req.structs = true
	default:
		return req, wire.RequestError("elements: must be json or structs, was " + strconv.Quote(p.Elements))
	}
	switch {
	case p.At == "":
	case p.Route != "":
		return req, wire.RequestError("at: is a member of the body of a typed request")
	default:
		if _, err := asof.Parse("at", p.At); err != nil {
			return req, err
		}
		req.at = p.At
	}
	if p.Route != "" {
		typed, err := request.DecodeTyped(p.Route, p.Body, p.Typed, charge)
		req.typed = &typed
		return req, err
	}
	req.statement, err = p.request(charge)
	return req, err
}

// request returns the statement of a request.
func (p *plainRequest) request(charge *memory.Charge) (req query.Request, err error) {
	req = query.Request{Statement: p.Statement, Graph: p.Graph, MaxRows: p.MaxRows}
	if req.ReadOnly, err = readOnly(p.AccessMode); err != nil {
		return req, err
	}
	if req.Timeout, err = millis("timeoutMs", p.TimeoutMs); err != nil {
		return req, err
	}
	if p.MaxRows < 0 {
		return req, wire.RequestError("maxRows: must be a whole number from 0, was " + strconv.FormatInt(p.MaxRows, 10))
	}
	if req.Params, err = wire.DecodeParams(p.Parameters, p.Typed, charge); err != nil {
		return req, err
	}
	return req, wire.CheckStatement(req.Statement)
}

func readOnly(accessMode string) (bool, error) {
	switch strings.ToUpper(accessMode) {
	case "", "WRITE":
		return false, nil
	case "READ":
		return true, nil
	}
	return false, wire.RequestError("accessMode: must be READ or WRITE, was " + strconv.Quote(accessMode))
}

// millis converts a number of milliseconds.
func millis(field string, n int64) (time.Duration, error) {
	if n < 0 || n > math.MaxInt64/int64(time.Millisecond) {
		return 0, wire.RequestError(field + ": must be a whole number from 0, was " + strconv.FormatInt(n, 10))
	}
	return time.Duration(n) * time.Millisecond, nil
}

// handleOf returns the handle of a statement for clients of Flight SQL.
func handleOf(statement string, params map[string]graph.Value) ([]byte, error) {
	if err := wire.CheckStatement(statement); err != nil {
		return nil, err
	}
	req := &pb.QueryRequest{Statement: statement, Parameters: make(map[string]*pb.Value, len(params))}
	for name, v := range params {
		req.Parameters[name] = wire.ToProto(v)
	}
	b, err := proto.Marshal(req)
	if err != nil { // names that are not UTF-8
		err = wire.RequestError("the parameters of the statement: " + err.Error())
	}
	return b, err
}

func handleRequest(handle []byte, charge *memory.Charge) (query.Request, error) {
	var req pb.QueryRequest
	if err := proto.Unmarshal(handle, &req); err != nil {
		return query.Request{}, wire.RequestError("the statement handle: is unknown to this server")
	}
	return requestOf(&req, charge)
}
