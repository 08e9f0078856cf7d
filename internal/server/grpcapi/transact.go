package grpcapi

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/asof"
	"github.com/hopgate/hopgate/internal/server/summary"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// Transact runs explicit transactions, one after another. An open transaction ends with the stream.
func (s *graphService) Transact(stream grpc.BidiStreamingServer[pb.TransactRequest, pb.TransactResponse]) error {
	c := &transactCall{s: s, stream: stream}
	return eachStep(stream.Context(), s.drained.Done(), &c.openTx, stream.Recv, c.step)
}

// openTx is the explicit transaction of a stream.
type openTx struct {
	tx    *query.Transaction // or nil
	ended chan struct{}      // closed when tx ends
}

// eachStep handles the messages of a stream until the client ends it, the transaction ends by itself or the server drains. The open
// transaction rolls back at the end.
func eachStep[M any](ctx context.Context, drained <-chan struct{}, open *openTx, recv func() (M, error), handle func(context.Context, M) error) error {
	defer func() {
		if open.tx != nil {
			open.tx.Rollback()
		}
	}()
	steps, failed := make(chan M), make(chan error, 1)
	go func() { // ends with the stream
		for {
			step, err := recv()
			if err != nil {
				failed <- err
				return
			}
			select {
			case steps <- step:
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case step := <-steps:
			if err := handle(ctx, step); err != nil {
				return wire.GRPCError(err)
			}
		case err := <-failed:
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		case <-open.ended:
			return wire.GRPCError(open.tx.Touch()) // returns the reason
		case <-drained:
			return wire.GRPCError(wire.Draining())
		}
	}
}

// transactCall is a call of Transact.
type transactCall struct {
	s      *graphService
	stream grpc.BidiStreamingServer[pb.TransactRequest, pb.TransactResponse]
	openTx
}

// step executes a step of the client.
func (c *transactCall) step(ctx context.Context, req *pb.TransactRequest) error {
	if begin := req.GetBegin(); begin != nil {
		if c.tx != nil {
			return wire.RequestError("begin: a transaction is already open")
		}
		return c.begin(ctx, begin)
	}
	if c.tx == nil {
		return wire.RequestError("no transaction is open; the first step is begin")
	}
	switch step := req.GetStep().(type) {
	case *pb.TransactRequest_Run:
		return c.run(ctx, step.Run)
	case *pb.TransactRequest_Commit:
		if err := c.tx.Commit(ctx); err != nil {
			return err
		}
		c.stream.SetTrailer(snapshotTrailer(c.tx.Snapshot()))
		counters := summary.CountersProto(c.tx.Counters(), query.SchemaCounters{})
		return c.finish(&pb.TransactResponse{Part: &pb.TransactResponse_Committed{Committed: &pb.TransactCommitted{Counters: counters}}})
	case *pb.TransactRequest_Rollback:
		c.tx.Rollback()
		return c.finish(&pb.TransactResponse{Part: &pb.TransactResponse_RolledBack{RolledBack: &pb.TransactRolledBack{}}})
	}
	return wire.RequestError("a step must be begin, run, commit or rollback")
}

func (c *transactCall) begin(ctx context.Context, begin *pb.TransactBegin) error {
	timeout, err := timeoutOf(begin.GetTimeout())
	if err != nil {
		return err
	}
	stale, err := durationOf("max_staleness", begin.GetMaxStaleness())
	if err != nil {
		return err
	}
	if err := reached(ctx, c.s.e, begin.GetGraph()); err != nil {
		return err
	}
	if ctx, err = asof.With(ctx, "at", begin.GetAt()); err != nil {
		return err
	}
	ended := make(chan struct{})
	tx, err := c.s.e.Begin(ctx, query.TxOptions{
		Graph: begin.GetGraph(), ReadOnly: begin.GetAccessMode() == pb.AccessMode_ACCESS_MODE_READ, Stale: stale, Timeout: timeout, Idle: c.s.idle,
		Ended: func() { close(ended) },
	})
	if err != nil {
		return err
	}
	c.tx, c.ended = tx, ended
	return c.stream.Send(&pb.TransactResponse{Part: &pb.TransactResponse_Begun{Begun: &pb.TransactBegun{}}})
}

func (c *transactCall) run(ctx context.Context, run *pb.TransactRun) error {
	if err := wire.CheckStatement(run.GetStatement()); err != nil {
		return err
	}
	timeout, err := timeoutOf(run.GetTimeout())
	if err != nil {
		return err
	}
	own, err := limits(ctx)
	if err != nil {
		return err
	}
	charge := c.s.e.Charge(ctx)
	defer charge.Release()
	params, err := wire.ParamsFromProto(run.GetParameters(), charge)
	if err != nil {
		return err
	}
	res, err := c.tx.Run(ctx, query.Request{
		Statement: run.GetStatement(), Params: params, MaxRows: int64(min(run.GetMaxRows(), 1<<62)), Timeout: timeout, Limits: own,
	})
	if err != nil {
		return err
	}
	defer res.Close()
	return sendResult(res, stepSender{c.stream})
}

// stepSender sends the result of a statement as the answer to a step.
type stepSender struct {
	stream grpc.BidiStreamingServer[pb.TransactRequest, pb.TransactResponse]
}

func (s stepSender) send(part *pb.QueryResponse) error {
	return s.stream.Send(&pb.TransactResponse{Part: &pb.TransactResponse_Result{Result: part}})
}

// begin implements resultSender.
func (s stepSender) begin(columns []string) error {
	return s.send(&pb.QueryResponse{Part: &pb.QueryResponse_Header{Header: &pb.QueryHeader{Fields: columns}}})
}

// rows implements resultSender.
func (s stepSender) rows(rows *pb.RowBatch, _ int) error {
	return s.send(&pb.QueryResponse{Part: &pb.QueryResponse_Rows{Rows: rows}})
}

// end implements resultSender.
func (s stepSender) end(summary *pb.QuerySummary) error {
	return s.send(&pb.QueryResponse{Part: &pb.QueryResponse_Summary{Summary: summary}})
}

// finish reports the end of a transaction; the next may begin.
func (c *transactCall) finish(res *pb.TransactResponse) error {
	c.tx, c.ended = nil, nil
	return c.stream.Send(res)
}
