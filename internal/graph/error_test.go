package graph

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestConstructors pins the classification that clients match: kind, code, type, phase and detail of each constructor.
func TestConstructors(t *testing.T) {
	cause := errors.New("cause")
	for _, c := range []struct {
		err  *Error
		kind Kind
		want [4]string
		msg  string
	}{
		{RequestError(KindInvalid, "D", "a %d", 1), KindInvalid, [4]string{"Neo.ClientError.Request.Invalid", "RequestError", PhaseCompile, "D"}, "a 1"},
		{FetchError(KindBudget, cause), KindBudget, [4]string{"Neo.ClientError.Request.Invalid", "FetchError", PhaseRuntime, "Failed"}, "fetch: cause"},
		{LoadError("D", "a %d", 1), KindInvalid, [4]string{"Neo.ClientError.Request.Invalid", "LoadError", PhaseRuntime, "D"}, "a 1"},
		{LoadTakenOver(), KindConflict, [4]string{"Neo.TransientError.Transaction.Outdated", "LoadError", PhaseRuntime, "TakenOver"}, "another run of this load has taken over"},
		{Unavailable("T", "D", "m", cause), KindUnavailable, [4]string{"Neo.TransientError.General.DatabaseUnavailable", "T", PhaseRuntime, "D"}, "m: cause"},
		{Unsupported("m"), KindUnavailable, [4]string{"Neo.ClientError.General.InvalidArguments", "RequestError", PhaseRuntime, "Unsupported"}, "m"},
		{Busy(time.Second, "a %d", 1), KindBusy, [4]string{"Neo.TransientError.Request.NoThreadsAvailable", "RequestError", PhaseRuntime, "TooManyRequests"}, "a 1"},
		{OutOfMemory("a %d", 1), KindBudget, [4]string{"Neo.TransientError.General.OutOfMemoryError", "BudgetError", PhaseRuntime, "OutOfMemory"}, "a 1"},
		{Unauthenticated("m"), KindUnauthenticated, [4]string{"Neo.ClientError.Security.Unauthorized", "SecurityError", PhaseCompile, "Unauthorized"}, "m"},
		{AuthenticationRateLimit(3, time.Second), KindUnauthenticated, [4]string{"Neo.ClientError.Security.AuthenticationRateLimit", "SecurityError", PhaseCompile, "RateLimit"}, "authentication has failed 3 times in a row; try again in 1s"},
		{Forbidden(PhaseCompile, "D", "a %d", 1), KindDenied, [4]string{"Neo.ClientError.Security.Forbidden", "SecurityError", PhaseCompile, "D"}, "a 1"},
		{MissingParameters("a", "b"), KindInvalid, [4]string{"Neo.ClientError.Statement.ParameterMissing", "ParameterMissing", PhaseCompile, "MissingParameter"}, "expected parameter(s): a, b"},
		{ProcedureNotFound(Pos{}, "a %d", 1), KindInvalid, [4]string{"Neo.ClientError.Procedure.ProcedureNotFound", "ProcedureError", PhaseCompile, "ProcedureNotFound"}, "a 1"},
		{WriteInReadMode(), KindInvalid, [4]string{"Neo.ClientError.Statement.AccessMode", "SemanticError", PhaseCompile, "WriteInReadMode"}, "the statement writes, but the access mode is READ"},
		{NoGraph("g"), KindNotFound, [4]string{"Neo.ClientError.Database.DatabaseNotFound", "DatabaseError", PhaseRuntime, "NotFound"}, `the graph "g" does not exist`},
		{DroppedGraph("g"), KindNotFound, [4]string{"Neo.ClientError.Database.DatabaseNotFound", "DatabaseError", PhaseRuntime, "NotFound"}, `the graph "g" was dropped`},
		{SchemaError(KindExists, "ClientError.Schema.X", "D", "a %d", 1), KindExists, [4]string{"Neo.ClientError.Schema.X", "SchemaError", PhaseRuntime, "D"}, "a 1"},
		{TransactionNotFound("!"), KindNotFound, [4]string{"Neo.ClientError.Transaction.TransactionNotFound", "TransactionError", PhaseRuntime, "TransactionNotFound"}, "there is no such transaction!"},
		{ConcurrentAccess(), KindInvalid, [4]string{"Neo.ClientError.Transaction.TransactionAccessedConcurrently", "TransactionError", PhaseRuntime, "ConcurrentAccess"}, "a statement of this transaction is still running, or its rows have not all been read"},
		{ForbiddenInTransaction("a"), KindInvalid, [4]string{"Neo.ClientError.Transaction.ForbiddenDueToTransactionType", "TransactionError", PhaseCompile, "ExplicitTransaction"}, "a cannot run in this explicit transaction"},
		{ImplicitTransactionOnly(), KindInvalid, [4]string{"Neo.DatabaseError.Transaction.TransactionStartFailed", "TransactionError", PhaseCompile, "ExplicitTransaction"}, "a query with CALL { … } IN TRANSACTIONS can only be executed in an implicit transaction, but tried to execute in an explicit transaction"},
		{InvalidBookmark("b"), KindInvalid, [4]string{"Neo.ClientError.Transaction.InvalidBookmark", "TransactionError", PhaseCompile, "InvalidBookmark"}, `"b" is not a bookmark of this server`},
		{TransactionTerminated("m"), KindDeadline, [4]string{"Neo.ClientError.Transaction.Terminated", "TransactionError", PhaseRuntime, "Terminated"}, "m"},
		{LockWaitEnded(nil), KindDeadline, [4]string{"Neo.ClientError.Transaction.LockClientStopped", "TransactionError", PhaseRuntime, "LockWaitEnded"}, "the statement was terminated while it waited for another transaction that changes the same vertex or edge"},
		{TransactionIdle("m"), KindDeadline, [4]string{"Neo.ClientError.Transaction.TransactionTimedOut", "TransactionError", PhaseRuntime, "Idle"}, "m"},
	} {
		require.Equal(t, c.kind, c.err.Kind, c.want)
		require.Equal(t, c.want, [4]string{c.err.Code, c.err.Type, c.err.Phase, c.err.Detail})
		require.Equal(t, c.msg, c.err.Error())
	}
	require.Equal(t, time.Second, Busy(time.Second, "x").Retry)
	require.Equal(t, Pos{Line: 2}, ProcedureNotFound(Pos{Line: 2}, "x").Pos)
	require.ErrorIs(t, Unavailable("T", "D", "m", cause), cause)
}
