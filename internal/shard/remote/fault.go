package remote

import (
	"context"
	"errors"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/replica"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage"
)

// toStatus makes the status of an answer's error: a graph.Error travels whole.
func toStatus(err error) error {
	if err == nil {
		return nil
	}
	switch {
	case status.Code(err) == codes.Unavailable: // it is one already
		return err
	case errors.Is(err, replica.ErrNotLeader), errors.Is(err, replica.ErrAmbiguous), errors.Is(err, replica.ErrStopped):
		return status.Error(codes.Unavailable, err.Error()) // the caller asks again
	case errors.Is(err, storage.ErrGone):
		err = unavailable(shard.SnapshotGone, "the state of the graph that is being read is gone, since a shard or its leader has restarted; run the statement again", nil)
	case errors.Is(err, storage.ErrAhead):
		err = unavailable(shard.SnapshotAhead, "the shard does not have the state of the graph that is being read yet; run the statement again", nil)
	case errors.Is(err, storage.ErrFenced):
		err = unavailable("Fenced", "another process leads the graph now", nil)
	}
	e := graph.AsError(err)
	f := &pb.Fault{
		Kind: uint32(e.Kind), Code: e.Code, Type: e.Type, Phase: e.Phase, Detail: e.Detail, Message: e.Msg,
		Line: int32(e.Pos.Line), Column: int32(e.Pos.Column), Offset: int32(e.Pos.Offset),
	}
	if e.Err != nil {
		f.Message = e.Error()
	}
	st, derr := status.New(codes.Aborted, f.Message).WithDetails(f)
	if derr != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return st.Err()
}

// notLeading is the status of an answer that another process has to give; leader is its number, -1 if it is not known.
func notLeading(leader int, err error) error {
	st, derr := status.New(codes.Unavailable, err.Error()).WithDetails(&pb.NotLeading{Leader: uint32(leader + 1)})
	if derr != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	return st.Err()
}

// leaderOf returns the process that an answer names as the leader, -1 if it names none.
func leaderOf(err error) int {
	for _, d := range status.Convert(err).Details() {
		if n, ok := d.(*pb.NotLeading); ok {
			return int(n.GetLeader()) - 1
		}
	}
	return -1
}

// unavailable says that something cannot be done now, and may be tried again.
func unavailable(detail, msg string, err error) *graph.Error {
	return &graph.Error{
		Kind: graph.KindUnavailable, Code: "Neo.TransientError.General.DatabaseUnavailable", Type: "DatabaseError",
		Phase: graph.PhaseRuntime, Detail: detail, Msg: msg, Err: err,
	}
}

// fromStatus returns the error of an answer. lost tells that there was none: the process or the connection has failed.
func fromStatus(ctx context.Context, who string, err error) (_ error, lost bool) {
	if err == nil {
		return nil, false
	}
	st, ok := status.FromError(err)
	if !ok {
		return graph.InternalError(who, err), false
	}
	if f := faultOf(st); f != nil {
		return f, false
	}
	if ctx.Err() != nil {
		return graph.DeadlineError(ctx.Err()), false
	}
	var why int
	switch st.Code() {
	case codes.Unavailable:
		why = failed
	case codes.Canceled, codes.DeadlineExceeded:
		why = timeout
	case codes.Unimplemented: // all processes are of one version, so this is another one than was meant
		why = moved
	default:
		return graph.InternalError(who, err), false
	}
	return noAnswer(who, why, errors.New(st.Message())), true
}

// noAnswer counts a call that was not answered, and gives its error.
func noAnswer(who string, why int, err error) error {
	lostCalls[why].Add(1)
	return unavailable("ShardUnavailable", who+" does not answer", err)
}

// The reasons why a call is not answered.
const (
	failed  = iota // the process, or the connection, has failed
	timeout        // there was no answer in time
	moved          // another process is at the address now
	lostReasons
)

// lostCalls are how many calls of this process were not answered, by their reasons.
var lostCalls [lostReasons]atomic.Uint64

// LostCalls returns how many calls of this process were not answered, and so are made again where that does no harm, by reasons.
func LostCalls() map[string]uint64 {
	return map[string]uint64{"failed": lostCalls[failed].Load(), "timeout": lostCalls[timeout].Load(), "moved": lostCalls[moved].Load()}
}

// faultOf returns the error that an answer brought; nil says that there was no answer.
func faultOf(st *status.Status) *graph.Error {
	for _, d := range st.Details() {
		if f, ok := d.(*pb.Fault); ok {
			return &graph.Error{
				Kind: graph.Kind(f.GetKind()), Code: f.GetCode(), Type: f.GetType(), Phase: f.GetPhase(), Detail: f.GetDetail(), Msg: f.GetMessage(),
				Pos: graph.Pos{Line: int(f.GetLine()), Column: int(f.GetColumn()), Offset: int(f.GetOffset())},
			}
		}
	}
	return nil
}
