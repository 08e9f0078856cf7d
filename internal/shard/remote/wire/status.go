package wire

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// LeaderOf returns the leader that a NotLeading names, else -1.
func LeaderOf(err error) int {
	for _, d := range status.Convert(err).Details() {
		if n, ok := d.(*pb.NotLeading); ok {
			return int(n.GetLeader()) - 1
		}
	}
	return -1
}

// Unavailable returns the error of a request that fails now, and may succeed later.
func Unavailable(detail, msg string, err error) *graph.Error {
	return &graph.Error{
		Kind: graph.KindUnavailable, Code: "Neo.TransientError.General.DatabaseUnavailable", Type: "DatabaseError",
		Phase: graph.PhaseRuntime, Detail: detail, Msg: msg, Err: err,
	}
}

// FromStatus returns the error for the status err of a call to who. retryable says that there was no answer: the process or the connection has
// failed.
func FromStatus(ctx context.Context, who string, err error) (_ error, retryable bool) {
	if err == nil {
		return nil, false
	}
	st, ok := status.FromError(err)
	if !ok {
		return graph.InternalError(who, err), false
	}
	if f := Fault(err); f != nil {
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
	case codes.Unimplemented: // all processes have one version, so another process is at the address
		why = moved
	default:
		return graph.InternalError(who, err), false
	}
	return noAnswer(who, why, errors.New(st.Message())), true
}

// TimedOut returns the error of a call that was not answered in time, and counts it.
func TimedOut(who string, err error) error { return noAnswer(who, timeout, err) }

// noAnswer returns the error of a call that was not answered, and counts it.
func noAnswer(who string, why int, err error) error {
	lostCalls[why].Add(1)
	return Unavailable("ShardUnavailable", who+" does not answer", err)
}

// The reasons why a call is not answered.
const (
	failed  = iota // the process, or the connection, has failed
	timeout        // there was no answer in time
	moved          // another process is at the address now
	lostReasons
)

// lostCalls counts the unanswered calls of this process, by reason.
var lostCalls [lostReasons]atomic.Uint64

// LostCalls returns how many calls of this process were not answered, by reason. Idempotent ones were repeated.
func LostCalls() map[string]uint64 {
	return map[string]uint64{"failed": lostCalls[failed].Load(), "timeout": lostCalls[timeout].Load(), "moved": lostCalls[moved].Load()}
}

// Fault returns the graph.Error that an answer carries, nil without an answer.
func Fault(err error) *graph.Error {
	for _, d := range status.Convert(err).Details() {
		if f, ok := d.(*pb.Fault); ok {
			return &graph.Error{
				Kind: graph.Kind(f.GetKind()), Code: f.GetCode(), Type: f.GetType(), Phase: f.GetPhase(), Detail: f.GetDetail(), Msg: f.GetMessage(),
				Pos: graph.Pos{Line: int(f.GetLine()), Column: int(f.GetColumn()), Offset: int(f.GetOffset())},
			}
		}
	}
	return nil
}

// Superseded is the error of reads of a snapshot that is not the present one.
func Superseded() error {
	return Unavailable(shard.SnapshotGone, "others have committed since the snapshot was taken", nil)
}

// NoProcess is the error of requests that name a process that does not exist.
func NoProcess(process int) error {
	return InvalidMember("there is no process %d: see graphctl member list", process)
}

// InvalidMember is the error of invalid requests about members.
func InvalidMember(format string, args ...any) error {
	return &graph.Error{
		Kind: graph.KindInvalid, Code: "Neo.ClientError.Statement.ArgumentError", Type: "ArgumentError", Phase: graph.PhaseRuntime, Detail: "InvalidMember",
		Msg: fmt.Sprintf(format, args...),
	}
}
