package grpcapi

import (
	"bytes"
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/arrowstream"
	"github.com/hopgate/hopgate/internal/server/summary"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// exchangeStep is a step of a call of DoExchange, as JSON in the metadata of a message. Each has one member. The answer to Run and Query is
// the bytes of an Arrow IPC stream, that to Fetch the JSON text, in messages whose metadata begin with rowsMark, then the summary. The others
// are answered by one message.
type exchangeStep struct {
	Begin    *exchangeBegin `json:"begin"`
	Run      *plainRequest  `json:"run"`
	Commit   *struct{}      `json:"commit"`
	Rollback *struct{}      `json:"rollback"`
	Query    *plainRequest  `json:"query"` // outside of a transaction
	Fetch    *fetchBody     `json:"fetch"` // likewise
}

// exchangeBegin opens a transaction.
type exchangeBegin struct {
	Graph      string `json:"graph"`
	AccessMode string `json:"accessMode"`
	TimeoutMs  int64  `json:"timeoutMs"`
}

// The first byte of the metadata of an answer.
const (
	rowsMark    = 'r' // bytes of an Arrow IPC stream follow, or of the answer to a fetch
	summaryMark = 's' // the summary of a statement follows, as JSON; that of a transaction for a commit
)

// DoExchange runs explicit transactions as GraphService.Transact does, and requests outside of them: one after another, until the client ends
// the stream. A failure ends the stream and the open transaction. Unlike DoGet of Arrow's C++ library, a client may cancel the call at any
// time.
func (s *flightService) DoExchange(stream flight.FlightService_DoExchangeServer) error {
	c := &exchange{s: s, stream: stream}
	return eachStep(stream.Context(), s.drained.Done(), &c.openTx, stream.Recv, c.step)
}

// exchange is a call of DoExchange.
type exchange struct {
	s      *flightService
	stream flight.FlightService_DoExchangeServer
	openTx
}

// step executes a step of the client.
func (c *exchange) step(ctx context.Context, m *flight.FlightData) error {
	if len(m.GetAppMetadata()) == 0 && len(m.GetDataHeader()) == 0 {
		return nil // the descriptor alone
	}
	var step exchangeStep
	if err := wire.DecodeJSON(m.GetAppMetadata(), true, &step); err != nil {
		return err
	}
	switch {
	case step.Begin != nil && c.tx != nil:
		return wire.RequestError("begin: a transaction is already open")
	case step.Begin != nil:
		return c.begin(ctx, step.Begin)
	case (step.Query != nil || step.Fetch != nil) && c.tx != nil:
		return wire.RequestError("query, fetch: run outside of a transaction, and one is open")
	case step.Query != nil:
		return c.query(ctx, step.Query)
	case step.Fetch != nil:
		return c.fetch(ctx, step.Fetch)
	case c.tx == nil:
		return wire.RequestError("no transaction is open; the first step is begin, query or fetch")
	case step.Run != nil:
		return c.run(ctx, step.Run)
	case step.Commit != nil:
		if err := c.tx.Commit(ctx); err != nil {
			return err
		}
		counters := summary.Text(query.Summary{Counters: c.tx.Counters()}, nil)
		c.tx, c.ended = nil, nil
		return c.answer(summaryMark, []byte(counters))
	case step.Rollback != nil:
		c.tx.Rollback()
		c.tx, c.ended = nil, nil
		return c.answer(summaryMark, []byte("{}"))
	}
	return wire.RequestError("a step must have begin, run, commit or rollback")
}

func (c *exchange) begin(ctx context.Context, b *exchangeBegin) (err error) {
	ended := make(chan struct{})
	o := query.TxOptions{Graph: b.Graph, Idle: c.s.idle, Ended: func() { close(ended) }}
	if o.Timeout, err = millis("begin.timeoutMs", b.TimeoutMs); err != nil {
		return err
	}
	if o.ReadOnly, err = readOnly(b.AccessMode); err != nil {
		return err
	}
	tx, err := c.s.e.Begin(ctx, o)
	if err != nil {
		return err
	}
	c.tx, c.ended = tx, ended
	return c.answer(summaryMark, []byte("{}"))
}

func (c *exchange) run(ctx context.Context, p *plainRequest) error {
	if p.Route != "" || p.Graph != "" {
		return wire.RequestError("run: holds statements for the graph of the transaction")
	}
	charge := c.s.e.Charge(ctx)
	defer charge.Release()
	req, err := p.request(charge)
	if err != nil {
		return err
	}
	res, err := c.tx.Run(ctx, req)
	if err != nil {
		return err
	}
	return c.send(res, p.Elements == "structs")
}

// query runs a request outside of a transaction.
func (c *exchange) query(ctx context.Context, p *plainRequest) error {
	charge := c.s.e.Charge(ctx)
	defer charge.Release()
	req, err := p.ticket(charge)
	if err != nil {
		return err
	}
	res, err := c.s.open(ctx, &req)
	if err != nil {
		return err
	}
	return c.send(res, req.structs)
}

func (c *exchange) fetch(ctx context.Context, b *fetchBody) error {
	if err := b.run(ctx, c.s.e, func(p []byte) error { return c.answer(rowsMark, p) }); err != nil {
		return err
	}
	return c.answer(summaryMark, []byte("{}"))
}

// send answers with the rows of a result, which it closes, and their summary.
func (c *exchange) send(res *query.Result, structs bool) error {
	defer res.Close()
	sink := &exchangeSink{c: c, res: res}
	out := arrowstream.New(res.Columns, func(schema *arrow.Schema) (arrowstream.Sink, error) {
		sink.Writer = ipc.NewWriter(&sink.buf, ipc.WithSchema(schema))
		return sink, nil
	}, res.HoldBytes)
	out.Structs(structs)
	if err := out.Copy(res); err != nil {
		if errors.Is(err, arrowstream.ErrGone) {
			err = graph.DeadlineError(err)
		}
		return err
	}
	return c.answer(summaryMark, []byte(summary.Text(res.Summary(), nil)))
}

// answer sends a message.
func (c *exchange) answer(mark byte, body []byte) error {
	return c.stream.Send(&flight.FlightData{AppMetadata: append([]byte{mark}, body...)})
}

// exchangeSink sends an Arrow IPC stream in messages that clients can read.
type exchangeSink struct {
	*ipc.Writer
	c   *exchange
	res *query.Result
	buf bytes.Buffer
}

func (s *exchangeSink) Write(rec arrow.RecordBatch) error {
	s.res.Sending()
	if err := s.Writer.Write(rec); err != nil {
		return err
	}
	s.res.Sent(s.buf.Len())
	return s.flush()
}

// Close ends the stream.
func (s *exchangeSink) Close() error {
	if err := s.Writer.Close(); err != nil {
		return err
	}
	return s.flush()
}

func (s *exchangeSink) flush() error {
	for s.buf.Len() > 0 {
		if s.c.answer(rowsMark, s.buf.Next(recordBytes)) != nil {
			return arrowstream.ErrGone
		}
	}
	return nil
}
