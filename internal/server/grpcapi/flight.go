package grpcapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

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
	"github.com/hopgate/hopgate/internal/server/arrowstream"
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
// object of plainStatement. Calls are independent: handles of Flight SQL contain the statement and its parameters, so several
// servers may answer calls with one handle.
type flightService struct {
	flight.FlightServer // Flight SQL but for DoGet: its rows would pass a channel, and their memory is used again
	e                   *query.Engine
}

// plainStatement is a statement with parameters as a ticket or a command.
type plainStatement struct {
	Statement  string          `json:"statement"`
	Parameters json.RawMessage `json:"parameters"`
	Graph      string          `json:"graph"`
}

func newFlightService(e *query.Engine) *flightService {
	s := &sqlService{e: e}
	for id, value := range map[flightsql.SqlInfo]any{
		flightsql.SqlInfoFlightSqlServerName: "Hopgate", flightsql.SqlInfoFlightSqlServerVersion: version.Version(),
		flightsql.SqlInfoFlightSqlServerArrowVersion: arrow.PkgVersion, flightsql.SqlInfoFlightSqlServerReadOnly: false,
		flightsql.SqlInfoFlightSqlServerSql: false, flightsql.SqlInfoFlightSqlServerSubstrait: false,
		flightsql.SqlInfoFlightSqlServerTransaction: int32(sqlpb.SqlSupportedTransaction_SQL_SUPPORTED_TRANSACTION_NONE),
		flightsql.SqlInfoFlightSqlServerCancel:      false,
	} {
		if err := s.RegisterSqlInfo(id, value); err != nil {
			panic(err) // a type that the library does not know
		}
	}
	return &flightService{flightsql.NewFlightServer(s), e}
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

// GetFlightInfo returns the ticket of a statement. The statement runs when the ticket is used, so its schema is not known before.
func (s *flightService) GetFlightInfo(ctx context.Context, d *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	if d.GetType() != flight.DescriptorCMD {
		return nil, wire.GRPCError(wire.RequestError("the flight descriptor: must be a command that holds a statement"))
	}
	if command(d.GetCmd()) != nil {
		return s.FlightServer.GetFlightInfo(ctx, d)
	}
	if _, err := statementOf(d.GetCmd(), s.e.Charge(ctx)); err != nil {
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
	var req query.Request
	var err error
	charge := s.e.Charge(stream.Context())
	switch c := command(ticket.GetTicket()).(type) {
	case nil:
		req, err = statementOf(ticket.GetTicket(), charge)
	case *sqlpb.TicketStatementQuery:
		req, err = handleRequest(c.GetStatementHandle(), charge)
	case *sqlpb.CommandPreparedStatementQuery:
		req, err = handleRequest(c.GetPreparedStatementHandle(), charge)
	default:
		return s.FlightServer.DoGet(ticket, stream)
	}
	if err != nil {
		return wire.GRPCError(err)
	}
	res, err := s.e.Query(stream.Context(), req)
	if err != nil {
		return wire.GRPCError(err)
	}
	defer res.Close()
	out := arrowstream.New(res.Columns, func(schema *arrow.Schema) (arrowstream.Sink, error) {
		return &flightSink{flight.NewRecordWriter(stream, ipc.WithSchema(schema)), res}, nil
	}, res.HoldBytes)
	if err := out.Copy(res); err != nil {
		if errors.Is(err, arrowstream.ErrGone) {
			err = graph.DeadlineError(err)
		}
		return wire.GRPCError(err)
	}
	stream.SetTrailer(metadata.Pairs(summaryKey, summary.Text(res.Summary(), nil)))
	return nil
}

// DoPut takes a command of Flight SQL with Arrow data.
func (s *flightService) DoPut(stream flight.FlightService_DoPutServer) error {
	return s.FlightServer.DoPut(&putStream{FlightService_DoPutServer: stream})
}

// putStream checks what the library expects of messages: the first has a descriptor, and all have sound metadata.
type putStream struct {
	flight.FlightService_DoPutServer
	begun bool
}

func (s *putStream) Recv() (*flight.FlightData, error) {
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

// statementOf reads a statement, or a plainStatement.
func statementOf(b []byte, charge *memory.Charge) (req query.Request, err error) {
	if text := bytes.TrimSpace(b); len(text) > 0 && text[0] == '{' {
		var p plainStatement
		if err := wire.DecodeJSON(text, true, &p); err != nil {
			return req, err
		}
		req.Statement, req.Graph = p.Statement, p.Graph
		if req.Params, err = wire.DecodeParams(p.Parameters, false, charge); err != nil {
			return req, err
		}
	} else {
		req.Statement = string(b)
	}
	return req, wire.CheckStatement(req.Statement)
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
