package graph

import (
	"fmt"
	"strings"
	"time"
)

// The constructors in this file describe errors of a request, its caller or the state of the server. Each fixes the classification
// that its family shares; the caller provides the rest.

// RequestError refuses a request before it runs: malformed, too large, too late or for a route that does not exist.
func RequestError(kind Kind, detail, format string, args ...any) *Error {
	return &Error{
		Kind: kind, Code: "Neo.ClientError.Request.Invalid", Type: "RequestError", Phase: PhaseCompile,
		Detail: detail, Msg: fmt.Sprintf(format, args...),
	}
}

// FetchError wraps the error of a JSON-array fetch.
func FetchError(kind Kind, err error) *Error {
	return &Error{
		Kind: kind, Code: "Neo.ClientError.Request.Invalid", Type: "FetchError", Phase: PhaseRuntime,
		Detail: "Failed", Msg: "fetch", Err: err,
	}
}

// LoadError refuses a batch of a load.
func LoadError(detail, format string, args ...any) *Error {
	return &Error{
		Kind: KindInvalid, Code: "Neo.ClientError.Request.Invalid", Type: "LoadError", Phase: PhaseRuntime,
		Detail: detail, Msg: fmt.Sprintf(format, args...),
	}
}

// LoadTakenOver reports that a newer run of a load has replaced this one.
func LoadTakenOver() *Error {
	return &Error{
		Kind: KindConflict, Code: "Neo.TransientError.Transaction.Outdated", Type: "LoadError", Phase: PhaseRuntime,
		Detail: "TakenOver", Msg: "another run of this load has taken over",
	}
}

// Unavailable reports that the server cannot do something now, so the client may retry. Typ is "TransactionError", "DatabaseError",
// "RequestError" or "StorageError"; err, if any, is the cause.
func Unavailable(typ, detail, msg string, err error) *Error {
	return &Error{
		Kind: KindUnavailable, Code: "Neo.TransientError.General.DatabaseUnavailable", Type: typ, Phase: PhaseRuntime,
		Detail: detail, Msg: msg, Err: err,
	}
}

// Unsupported reports that this server does not implement a request.
func Unsupported(msg string) *Error {
	return &Error{
		Kind: KindUnavailable, Code: "Neo.ClientError.General.InvalidArguments", Type: "RequestError", Phase: PhaseRuntime,
		Detail: "Unsupported", Msg: msg,
	}
}

// Busy refuses a request because too many run; retry is when to try again, 0 if unknown.
func Busy(retry time.Duration, format string, args ...any) *Error {
	return &Error{
		Kind: KindBusy, Code: "Neo.TransientError.Request.NoThreadsAvailable", Type: "RequestError", Phase: PhaseRuntime,
		Detail: "TooManyRequests", Retry: retry, Msg: fmt.Sprintf(format, args...),
	}
}

// OutOfMemory ends a statement to free the server's memory.
func OutOfMemory(format string, args ...any) *Error {
	return &Error{
		Kind: KindBudget, Code: "Neo.TransientError.General.OutOfMemoryError", Type: "BudgetError", Phase: PhaseRuntime,
		Detail: "OutOfMemory", Msg: fmt.Sprintf(format, args...),
	}
}

// Unauthenticated reports that the server cannot identify the caller.
func Unauthenticated(msg string) *Error {
	return &Error{
		Kind: KindUnauthenticated, Code: "Neo.ClientError.Security.Unauthorized", Type: "SecurityError", Phase: PhaseCompile,
		Detail: "Unauthorized", Msg: msg,
	}
}

// AuthenticationRateLimit refuses an address whose authentication failed too often.
func AuthenticationRateLimit(failures int, retry time.Duration) *Error {
	return &Error{
		Kind: KindUnauthenticated, Code: "Neo.ClientError.Security.AuthenticationRateLimit", Type: "SecurityError", Phase: PhaseCompile,
		Detail: "RateLimit", Msg: fmt.Sprintf("authentication has failed %d times in a row; try again in %v", failures, retry),
	}
}

// Forbidden reports that the caller lacks the permission for a request; phase is where the server detected that.
func Forbidden(phase, detail, format string, args ...any) *Error {
	return &Error{
		Kind: KindDenied, Code: "Neo.ClientError.Security.Forbidden", Type: "SecurityError", Phase: phase,
		Detail: detail, Msg: fmt.Sprintf(format, args...),
	}
}

// MissingParameters lists the parameters of a statement that have no value.
func MissingParameters(names ...string) *Error {
	return &Error{
		Kind: KindInvalid, Code: "Neo.ClientError.Statement.ParameterMissing", Type: "ParameterMissing", Phase: PhaseCompile,
		Detail: "MissingParameter", Msg: "expected parameter(s): " + strings.Join(names, ", "),
	}
}

// ProcedureNotFound reports that CALL names no procedure.
func ProcedureNotFound(p Pos, format string, args ...any) *Error {
	return &Error{
		Kind: KindInvalid, Code: "Neo.ClientError.Procedure.ProcedureNotFound", Type: "ProcedureError", Phase: PhaseCompile,
		Detail: "ProcedureNotFound", Pos: p, Msg: fmt.Sprintf(format, args...),
	}
}

// WriteInReadMode refuses a statement that writes where the client asked for reading only.
func WriteInReadMode() *Error {
	return &Error{
		Kind: KindInvalid, Code: "Neo.ClientError.Statement.AccessMode", Type: "SemanticError", Phase: PhaseCompile,
		Detail: "WriteInReadMode", Msg: "the statement writes, but the access mode is READ",
	}
}

// StaleWrite refuses something that writes, or may, where the client allows a snapshot that is out of date.
func StaleWrite(what string) *Error {
	return &Error{
		Kind: KindInvalid, Code: "Neo.ClientError.General.InvalidArguments", Type: "ArgumentError", Phase: PhaseCompile,
		Detail: "StaleWrite", Msg: what + " takes no maximum staleness: only reads may be out of date",
	}
}

// DroppedGraph ends the requests of a graph that is being dropped.
func DroppedGraph(name string) *Error {
	e := NoGraph(name)
	e.Msg = fmt.Sprintf("the graph %q was dropped", name)
	return e
}

// SchemaError reports why an index, a constraint or a TTL cannot be used, created or dropped. Code is the part of the status code
// after "Neo.".
func SchemaError(kind Kind, code, detail, format string, args ...any) *Error {
	return &Error{
		Kind: kind, Code: "Neo." + code, Type: "SchemaError", Phase: PhaseRuntime, Detail: detail, Msg: fmt.Sprintf(format, args...),
	}
}
