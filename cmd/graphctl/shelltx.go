package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

// shellTx is an explicit transaction of the shell. It ends with its connection.
type shellTx struct {
	stream grpc.BidiStreamingClient[pb.TransactRequest, pb.TransactResponse]
	close  func()
}

// txCommand runs :begin [read], :commit or :rollback.
func (a *app) txCommand(cmd *cobra.Command, q *queryFlags, words []string) error {
	switch {
	case words[0] == ":begin" && (len(words) == 1 || slices.Equal(words[1:], []string{"read"})):
		if a.tx != nil {
			return errors.New("a transaction is open; :commit or :rollback ends it")
		}
		return a.beginTx(cmd.Context(), len(words) > 1, q.stale)
	case len(words) > 1 || words[0] != ":commit" && words[0] != ":rollback":
		return errors.New("the transaction commands are :begin, :begin read, :commit and :rollback")
	case a.tx == nil:
		return errors.New("no transaction is open; :begin opens one")
	}
	defer a.closeTx()
	step := &pb.TransactRequest{Step: &pb.TransactRequest_Rollback{Rollback: &pb.TransactRollback{}}}
	if words[0] == ":commit" {
		step.Step = &pb.TransactRequest_Commit{Commit: &pb.TransactCommit{}}
	}
	res, err := a.tx.step(step)
	if err != nil {
		return err
	}
	if q.total != nil {
		q.total.add(res.GetCommitted().GetCounters())
		return nil
	}
	printCounters(cmd.ErrOrStderr(), res.GetCommitted().GetCounters())
	return nil
}

func (a *app) beginTx(ctx context.Context, readOnly bool, stale time.Duration) error {
	unbounded := *a // --timeout applies to the statements
	unbounded.Timeout = 0
	conn, ctx, _, err := unbounded.Dial(context.WithoutCancel(ctx)) // the transaction outlives the step that opens it
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	closeAll := func() { cancel(); _ = conn.Close() }
	stream, err := pb.NewGraphServiceClient(conn).Transact(ctx)
	if err == nil {
		begin := &pb.TransactBegin{Graph: a.Graph}
		if readOnly {
			begin.AccessMode = pb.AccessMode_ACCESS_MODE_READ
		}
		if stale != 0 {
			begin.MaxStaleness = durationpb.New(stale)
		}
		a.tx = &shellTx{stream: stream, close: closeAll}
		_, err = a.tx.step(&pb.TransactRequest{Step: &pb.TransactRequest_Begin{Begin: begin}})
	}
	if err != nil {
		closeAll()
		a.tx = nil
	}
	return err
}

// send sends a step.
func (t *shellTx) send(req *pb.TransactRequest) error {
	if err := t.stream.Send(req); !errors.Is(err, io.EOF) {
		return err
	}
	return nil // the stream has ended; Recv returns the reason
}

// step sends a step with a single response.
func (t *shellTx) step(req *pb.TransactRequest) (*pb.TransactResponse, error) {
	if err := t.send(req); err != nil {
		return nil, err
	}
	return t.stream.Recv()
}

// runInTx runs a statement in the open transaction. A failed statement ends the transaction.
func (a *app) runInTx(ctx context.Context, q *queryFlags, text string, params map[string]*pb.Value, p *printer) (*pb.QuerySummary, error) {
	run := &pb.TransactRun{Statement: text, Parameters: params, MaxRows: q.maxRows}
	if a.Timeout > 0 {
		run.Timeout = durationpb.New(a.Timeout)
	}
	stop := context.AfterFunc(ctx, a.tx.close)
	defer stop()
	err := a.tx.send(&pb.TransactRequest{Step: &pb.TransactRequest_Run{Run: run}})
	if err == nil {
		var summary *pb.QuerySummary
		summary, err = readAnswer(func() (*pb.QueryResponse, error) {
			part, err := a.tx.stream.Recv()
			return part.GetResult(), err
		}, p)
		if err == nil {
			return summary, nil
		}
	}
	a.closeTx()
	return nil, err
}

// closeTx abandons an open transaction; the server rolls it back.
func (a *app) closeTx() {
	if a.tx != nil {
		a.tx.close()
		a.tx = nil
	}
}
