package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

// transaction is a client's end of a Transact stream.
type transaction struct {
	grpc.BidiStreamingClient[pb.TransactRequest, pb.TransactResponse]
}

func (r *running) transact(ctx context.Context, t testing.TB) transaction {
	stream, err := pb.NewGraphServiceClient(r.conn).Transact(ctx)
	require.NoError(t, err)
	return transaction{stream}
}

// step sends a step and returns its single response.
func (x transaction) step(req *pb.TransactRequest) (*pb.TransactResponse, error) {
	if err := x.Send(req); err != nil && !errors.Is(err, io.EOF) { // Recv then returns the reason
		return nil, err
	}
	return x.Recv()
}

func (x transaction) begin(b *pb.TransactBegin) error {
	_, err := x.step(&pb.TransactRequest{Step: &pb.TransactRequest_Begin{Begin: b}})
	return err
}

func (x transaction) commit() (*pb.Counters, error) {
	res, err := x.step(&pb.TransactRequest{Step: &pb.TransactRequest_Commit{Commit: &pb.TransactCommit{}}})
	return res.GetCommitted().GetCounters(), err
}

func (x transaction) rollback() error {
	_, err := x.step(&pb.TransactRequest{Step: &pb.TransactRequest_Rollback{Rollback: &pb.TransactRollback{}}})
	return err
}

// run runs a statement and returns the values of its rows; integers are int64, lists []any.
func (x transaction) run(statement string, params map[string]any) ([][]any, error) {
	run := &pb.TransactRun{Statement: statement, Parameters: map[string]*pb.Value{}}
	for name, v := range params {
		run.Parameters[name] = toValue(v)
	}
	res, err := x.step(&pb.TransactRequest{Step: &pb.TransactRequest_Run{Run: run}})
	var rows [][]any
	for ; err == nil; res, err = x.Recv() {
		switch part := res.GetResult().GetPart().(type) {
		case *pb.QueryResponse_Rows:
			rows = append(rows, rowsOf(part.Rows)...)
		case *pb.QueryResponse_Summary:
			return rows, nil
		}
	}
	return rows, err
}

func toValue(v any) *pb.Value {
	switch v := v.(type) {
	case int:
		return &pb.Value{Kind: &pb.Value_Integer{Integer: int64(v)}}
	case string:
		return &pb.Value{Kind: &pb.Value_String_{String_: v}}
	}
	panic(fmt.Sprintf("a parameter of type %T", v))
}

func fromValue(v *pb.Value) any {
	switch x := v.GetKind().(type) {
	case *pb.Value_Integer:
		return x.Integer
	case *pb.Value_String_:
		return x.String_
	case *pb.Value_List:
		l := make([]any, len(x.List.GetValues()))
		for i, el := range x.List.GetValues() {
			l[i] = fromValue(el)
		}
		return l
	}
	return nil
}

func rowsOf(b *pb.RowBatch) [][]any {
	rows := make([][]any, b.GetRows())
	for i := range rows {
		for _, c := range b.GetColumns() {
			switch data := c.GetData().(type) {
			case *pb.Column_Integers:
				rows[i] = append(rows[i], data.Integers.GetValues()[i])
			case *pb.Column_Texts:
				from, ends := uint32(0), data.Texts.GetEnds()
				if i > 0 {
					from = ends[i-1]
				}
				rows[i] = append(rows[i], string(data.Texts.GetText()[from:ends[i]]))
			case *pb.Column_Values:
				rows[i] = append(rows[i], fromValue(data.Values.GetValues()[i]))
			default:
				panic(fmt.Sprintf("a column of type %T", data))
			}
		}
	}
	return rows
}

// count counts the vertices, outside of any transaction.
func (r *running) count(t testing.TB) int64 {
	a, err := r.query(context.Background(), &pb.QueryRequest{Statement: "MATCH (n) RETURN count(n)"})
	require.NoError(t, err)
	n, _ := rowsOf(a.values[0])[0][0].(int64)
	return n
}

// One stream carries transactions one after another.
func TestTransact(t *testing.T) {
	r := serve(t)
	ctx := t.Context()
	x := r.transact(ctx, t)
	require.NoError(t, x.begin(&pb.TransactBegin{}))
	rows, err := x.run("UNWIND range(1, $n) AS i CREATE (n:A {k: i}) RETURN n.k", map[string]any{"n": 3000})
	require.NoError(t, err)
	require.Len(t, rows, 3000)
	rows, err = x.run("MATCH (n:A) RETURN sum(n.k), [min(n.k), max(n.k)], 'x'", nil)
	require.NoError(t, err)
	require.Equal(t, [][]any{{int64(4501500), []any{int64(1), int64(3000)}, "x"}}, rows)
	require.Zero(t, r.count(t))
	counters, err := x.commit()
	require.NoError(t, err)
	require.EqualValues(t, 3000, counters.GetNodesCreated())
	require.True(t, counters.GetContainsUpdates())
	require.EqualValues(t, 3000, r.count(t))

	require.NoError(t, x.begin(&pb.TransactBegin{Graph: "default"}))
	_, err = x.run("MATCH (n) DELETE n", nil)
	require.NoError(t, err)
	require.NoError(t, x.rollback())
	require.EqualValues(t, 3000, r.count(t))

	require.NoError(t, x.begin(&pb.TransactBegin{AccessMode: pb.AccessMode_ACCESS_MODE_READ}))
	_, err = x.run("MATCH (n) RETURN count(n)", nil)
	require.NoError(t, err)
	_, err = x.run("CREATE (:A)", nil)
	require.Equal(t, "Neo.ClientError.Statement.AccessMode", info(t, err).GetReason())
	require.Empty(t, r.engine.Running(context.Background()))
}

// An error ends the stream, with the code of the contract, and rolls the transaction back.
func TestTransactErrors(t *testing.T) {
	r := serve(t)
	begin := &pb.TransactRequest{Step: &pb.TransactRequest_Begin{Begin: &pb.TransactBegin{}}}
	run := func(s string) *pb.TransactRequest {
		return &pb.TransactRequest{Step: &pb.TransactRequest_Run{Run: &pb.TransactRun{Statement: s}}}
	}
	for _, c := range []struct {
		steps  []*pb.TransactRequest
		code   codes.Code
		reason string
	}{
		{[]*pb.TransactRequest{run("RETURN 1")}, codes.InvalidArgument, "Neo.ClientError.Request.Invalid"},
		{[]*pb.TransactRequest{{}}, codes.InvalidArgument, "Neo.ClientError.Request.Invalid"},
		{[]*pb.TransactRequest{begin, {}}, codes.InvalidArgument, "Neo.ClientError.Request.Invalid"},
		{[]*pb.TransactRequest{begin, begin}, codes.InvalidArgument, "Neo.ClientError.Request.Invalid"},
		{[]*pb.TransactRequest{begin, run("CREATE (:A)"), run("RETURN 1 / 0")}, codes.InvalidArgument, "Neo.ClientError.Statement.ArithmeticError"},
		{[]*pb.TransactRequest{begin, run("CREATE (:A)"), run("")}, codes.InvalidArgument, "Neo.ClientError.Statement.SyntaxError"},
		{[]*pb.TransactRequest{begin, run("CREATE (:A)"), run("CREATE GRAPH g")}, codes.InvalidArgument, "Neo.ClientError.Transaction.ForbiddenDueToTransactionType"},
		{
			[]*pb.TransactRequest{{Step: &pb.TransactRequest_Begin{Begin: &pb.TransactBegin{Graph: "nowhere"}}}},
			codes.NotFound, "Neo.ClientError.Database.DatabaseNotFound",
		},
		{
			[]*pb.TransactRequest{{Step: &pb.TransactRequest_Begin{Begin: &pb.TransactBegin{Timeout: durationpb.New(-1)}}}},
			codes.InvalidArgument, "Neo.ClientError.Request.Invalid",
		},
		{
			[]*pb.TransactRequest{{Step: &pb.TransactRequest_Begin{Begin: &pb.TransactBegin{Timeout: durationpb.New(20 * time.Millisecond)}}}, run(slow)},
			codes.DeadlineExceeded, "Neo.ClientError.Transaction.TransactionTimedOut",
		},
	} {
		x := r.transact(context.Background(), t)
		var err error
		for _, step := range c.steps {
			requireSent(t, x.Send(step))
		}
		for err == nil {
			_, err = x.Recv()
		}
		require.Equal(t, c.code, status.Code(err), "%v: %v", c.steps, err)
		require.Equal(t, c.reason, info(t, err).GetReason())
		require.Zero(t, r.count(t))
	}
	require.Eventually(t, func() bool { return len(r.engine.Running(context.Background())) == 0 }, time.Minute, time.Millisecond)
}

// The stream takes its transaction with it, whichever way it ends, and the other way round.
func TestTransactEnds(t *testing.T) {
	r := serve(t)
	gone := func() {
		require.Eventually(t, func() bool { return len(r.engine.Running(context.Background())) == 0 }, time.Minute, time.Millisecond)
		require.Zero(t, r.count(t))
	}
	open := func(ctx context.Context, b *pb.TransactBegin) transaction {
		x := r.transact(ctx, t)
		require.NoError(t, x.begin(b))
		_, err := x.run("CREATE (:A)", nil)
		require.NoError(t, err)
		return x
	}
	x := open(context.Background(), &pb.TransactBegin{})
	require.NoError(t, x.CloseSend())
	_, err := x.Recv()
	require.ErrorIs(t, err, io.EOF)
	gone()

	ctx, cancel := context.WithCancel(context.Background())
	open(ctx, &pb.TransactBegin{})
	cancel()
	gone()

	for limit := 50 * time.Millisecond; ; limit *= 2 { // until the statement is quicker
		x = r.transact(context.Background(), t)
		if err = x.begin(&pb.TransactBegin{Timeout: durationpb.New(limit)}); err == nil {
			_, err = x.run("CREATE (:A)", nil)
		}
		if err == nil {
			break
		}
		require.Equal(t, codes.DeadlineExceeded, status.Code(err), err)
	}
	_, err = x.Recv()
	require.Equal(t, "Neo.ClientError.Transaction.TransactionNotFound", info(t, err).GetReason(), "the server reports it without a request")
	gone()

	x = open(context.Background(), &pb.TransactBegin{})
	require.True(t, r.engine.Kill(context.Background(), r.engine.Running(context.Background())[0].ID))
	_, err = x.Recv()
	require.ErrorContains(t, err, "killed")
	gone()

	x = open(context.Background(), &pb.TransactBegin{})
	drain, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r.Drain(drain)
	require.NoError(t, drain.Err())
	_, err = x.Recv()
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.Empty(t, r.engine.Running(context.Background()))
}
