package grpcapi

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/arrowstream"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// unknownRows is Flight SQL's number of changed rows where there is none: statements change vertices, edges and properties.
const unknownRows = -1

// sqlService answers the commands of Flight SQL that are about statements. All others answer Unimplemented.
type sqlService struct {
	flightsql.BaseServer
	e *query.Engine
}

// GetFlightInfoStatement returns the ticket of a statement.
func (s *sqlService) GetFlightInfoStatement(_ context.Context, c flightsql.StatementQuery, d *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	handle, err := outsideTransaction(c.GetQuery(), c.GetTransactionId())
	if err != nil {
		return nil, err
	}
	ticket, err := flightsql.CreateStatementQueryTicket(handle)
	if err != nil {
		return nil, wire.GRPCError(graph.InternalError("flight", err))
	}
	return ticketInfo(d, ticket), nil
}

// GetFlightInfoPreparedStatement returns the ticket of a prepared statement, which is its command.
func (s *sqlService) GetFlightInfoPreparedStatement(_ context.Context, _ flightsql.PreparedStatementQuery, d *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return ticketInfo(d, d.GetCmd()), nil
}

// CreatePreparedStatement returns the handle of a statement.
func (s *sqlService) CreatePreparedStatement(_ context.Context, c flightsql.ActionCreatePreparedStatementRequest) (res flightsql.ActionCreatePreparedStatementResult, err error) {
	res.Handle, err = outsideTransaction(c.GetQuery(), c.GetTransactionId())
	return res, err
}

// ClosePreparedStatement does nothing: the server keeps no handles.
func (s *sqlService) ClosePreparedStatement(context.Context, flightsql.ActionClosePreparedStatementRequest) error {
	return nil
}

// outsideTransaction returns the handle of a statement outside a client's transaction.
func outsideTransaction(statement string, transaction []byte) ([]byte, error) {
	if len(transaction) > 0 {
		return nil, wire.GRPCError(wire.RequestError("the transaction: not supported over Flight SQL; use GraphService.Transact or HTTP"))
	}
	handle, err := handleOf(statement, nil)
	if err != nil {
		return nil, wire.GRPCError(err)
	}
	return handle, nil
}

// DoPutPreparedStatementQuery returns the handle of a prepared statement with parameters: the columns of one row, by their names.
func (s *sqlService) DoPutPreparedStatementQuery(ctx context.Context, c flightsql.PreparedStatementQuery, r flight.MessageReader, _ flight.MetadataWriter) ([]byte, error) {
	req, err := handleRequest(c.GetPreparedStatementHandle(), s.e.Charge(ctx))
	if err != nil {
		return nil, wire.GRPCError(err)
	}
	var handle []byte
	rows := 0
	err = s.eachRow(ctx, r, func(params map[string]graph.Value) (err error) {
		if rows++; rows > 1 {
			return wire.RequestError("the parameters: a query takes exactly one row of them")
		}
		handle, err = handleOf(req.Statement, params)
		return err
	})
	if err == nil && rows == 0 {
		handle, err = handleOf(req.Statement, req.Params)
	}
	if err != nil {
		return nil, wire.GRPCError(err)
	}
	return handle, nil
}

// DoPutCommandStatementUpdate runs a statement and drops its rows.
func (s *sqlService) DoPutCommandStatementUpdate(ctx context.Context, c flightsql.StatementUpdate) (int64, error) {
	handle, err := outsideTransaction(c.GetQuery(), c.GetTransactionId())
	if err != nil {
		return 0, err
	}
	return s.update(ctx, handle)
}

// DoPutPreparedStatementUpdate runs a prepared statement for each row of parameters, all in one transaction, or once if there are no
// parameters.
func (s *sqlService) DoPutPreparedStatementUpdate(ctx context.Context, c flightsql.PreparedStatementUpdate, r flight.MessageReader) (int64, error) {
	if r.Schema() == nil || r.Schema().NumFields() == 0 {
		return s.update(ctx, c.GetPreparedStatementHandle())
	}
	req, err := handleRequest(c.GetPreparedStatementHandle(), s.e.Charge(ctx))
	if err != nil {
		return 0, wire.GRPCError(err)
	}
	tx, err := s.e.Begin(ctx, query.TxOptions{})
	if err != nil {
		return 0, wire.GRPCError(err)
	}
	defer tx.Rollback()
	err = s.eachRow(ctx, r, func(params map[string]graph.Value) error {
		req.Params = params
		return drain(tx.Run(ctx, req))
	})
	if err == nil {
		err = tx.Commit(ctx)
	}
	if err != nil {
		return 0, wire.GRPCError(err)
	}
	return unknownRows, nil
}

func (s *sqlService) update(ctx context.Context, handle []byte) (int64, error) {
	req, err := handleRequest(handle, s.e.Charge(ctx))
	if err != nil {
		return 0, wire.GRPCError(err)
	}
	res, err := s.e.Query(ctx, req)
	if err = drain(res, err); err != nil {
		return 0, wire.GRPCError(err)
	}
	return unknownRows, nil
}

// drain reads a result to its end and closes it.
func drain(res *query.Result, err error) error {
	if err != nil {
		return err
	}
	defer res.Close()
	for {
		if b, err := res.Next(); b == nil || err != nil {
			return err
		}
	}
}

// eachRow passes on the rows of parameters that a client sends.
func (s *sqlService) eachRow(ctx context.Context, r flight.MessageReader, run func(params map[string]graph.Value) error) error {
	for r.Next() {
		rec := r.RecordBatch()
		for row := range int(rec.NumRows()) {
			if err := s.row(ctx, rec, row, run); err != nil {
				return err
			}
		}
	}
	if err := r.Err(); err != nil {
		return wire.RequestError("the parameters: " + err.Error())
	}
	return nil
}

// row passes on one row of parameters, whose memory counts until run returns.
func (s *sqlService) row(ctx context.Context, rec arrow.RecordBatch, row int, run func(params map[string]graph.Value) error) error {
	charge := s.e.Charge(ctx)
	defer charge.Release()
	params := make(map[string]graph.Value, rec.NumCols())
	for i := range int(rec.NumCols()) {
		v, err := arrowstream.Value(rec.Column(i), row, charge)
		if err != nil {
			return wire.BadParams("the parameter "+rec.ColumnName(i)+": ", err)
		}
		params[rec.ColumnName(i)] = v
	}
	return run(params)
}
