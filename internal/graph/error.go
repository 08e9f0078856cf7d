package graph

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Kind classifies an error for the transports. The numbers are part of the protocol; new ones are only appended.
type Kind uint8

// A fault of the store is never NotFound.
const (
	KindInternal    Kind = 0 // an internal fault
	KindInvalid     Kind = 1 // the request is wrong
	KindNotFound    Kind = 2 // a named thing does not exist
	KindExists      Kind = 3 // a named thing already exists, or a write violates a constraint
	KindBudget      Kind = 4 // a limit on rows, bytes or visits is exceeded
	KindDeadline    Kind = 5 // out of time, or cancelled
	KindUnavailable Kind = 6 // try again later
	KindCorrupt     Kind = 7 // stored data fails its checks
	KindConflict    Kind = 8 // a write conflict; retriable
	KindDenied      Kind = 9 // not allowed

	KindUnauthenticated Kind = 10 // the caller is unknown
	KindBusy            Kind = 11 // too many requests; try again later
	KindUnknown         Kind = 12 // the outcome of a commit is unknown
	KindCost            Kind = 13 // the request is expected to take more than it may
)

// The openCypher error phases.
const (
	PhaseCompile = "compile"
	PhaseRuntime = "runtime"
)

// Pos is a position in a statement. Line and Column count characters from 1, Offset from 0. The zero Pos is unknown.
type Pos struct {
	Line, Column, Offset int
}

// Error is the error of a request. Code is Neo4j's status code; Type, Phase and Detail are openCypher's classification (TCK chapter
// "Errors"). Err is the cause, if any.
type Error struct {
	Kind                      Kind
	Code, Type, Phase, Detail string
	Msg                       string
	Pos                       Pos
	Retry                     time.Duration // for KindBusy: the delay before a retry; 0 if unknown
	Err                       error
}

// Error returns the message followed by the cause.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Msg + ": " + e.Err.Error()
	}
	return e.Msg
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// At returns a copy of the error with a position, unless it already has one.
func (e *Error) At(p Pos) *Error {
	if e.Pos.Line != 0 || p.Line == 0 {
		return e
	}
	c := *e
	c.Pos = p
	return &c
}

// SyntaxError is a compile-time openCypher SyntaxError with the given detail.
func SyntaxError(detail string, p Pos, format string, args ...any) *Error {
	return &Error{
		Kind: KindInvalid, Code: "Neo.ClientError.Statement.SyntaxError", Type: "SyntaxError", Phase: PhaseCompile,
		Detail: detail, Pos: p, Msg: fmt.Sprintf(format, args...),
	}
}

// RuntimeError is an error in the evaluation of a value. Typ is openCypher's error type (TypeError, ArgumentError, …).
func RuntimeError(typ, detail, format string, args ...any) *Error {
	code := "Neo.ClientError.Statement.TypeError"
	switch typ {
	case "ArgumentError":
		code = "Neo.ClientError.Statement.ArgumentError"
	case "EntityNotFound":
		code = "Neo.ClientError.Statement.EntityNotFound"
	case "ConstraintVerificationFailed":
		code = "Neo.ClientError.Schema.ConstraintValidationFailed"
	case "ArithmeticError":
		code = "Neo.ClientError.Statement.ArithmeticError"
	case "SemanticError":
		code = "Neo.ClientError.Statement.SemanticError"
	case "SyntaxError":
		code = "Neo.ClientError.Statement.SyntaxError"
	}
	return &Error{Kind: KindInvalid, Code: code, Type: typ, Phase: PhaseRuntime, Detail: detail, Msg: fmt.Sprintf(format, args...)}
}

// TypeError is a runtime openCypher TypeError.
func TypeError(detail, format string, args ...any) *Error {
	return RuntimeError("TypeError", detail, format, args...)
}

// BudgetError reports an exceeded limit; the message names the setting.
func BudgetError(format string, args ...any) *Error {
	return &Error{
		Kind: KindBudget, Code: "Neo.TransientError.General.MemoryPoolOutOfMemoryError", Type: "BudgetError",
		Phase: PhaseRuntime, Detail: "BudgetExceeded", Msg: fmt.Sprintf(format, args...),
	}
}

// CostTooHigh reports that the estimated cost of a request exceeds a ceiling. A negative estimate is not told.
func CostTooHigh(setting string, ceiling int64, estimate float64) *Error {
	e := &Error{
		Kind: KindCost, Code: "Neo.ClientError.Statement.CostTooHigh", Type: "BudgetError", Phase: PhaseRuntime, Detail: "CostTooHigh",
		Msg: fmt.Sprintf("the request is expected to take more than %d units, its limit %s", ceiling, setting),
	}
	if estimate >= 0 {
		e.Msg = fmt.Sprintf("the request is expected to take %.0f units, more than %d, its limit %s", estimate, ceiling, setting)
	}
	return e
}

// DeadlineError reports that a request timed out or was cancelled.
func DeadlineError(err error) *Error {
	return &Error{
		Kind: KindDeadline, Code: "Neo.ClientError.Transaction.TransactionTimedOut", Type: "TransactionError",
		Phase: PhaseRuntime, Detail: "TimedOut", Msg: "the statement was ended before it finished", Err: err,
	}
}

// CorruptError reports that stored data fails its checks; op names the operation and the location.
func CorruptError(op string, err error) *Error {
	return &Error{
		Kind: KindCorrupt, Code: "Neo.DatabaseError.General.StorageDamageDetected", Type: "StorageError",
		Phase: PhaseRuntime, Detail: "Corrupt", Msg: op, Err: err,
	}
}

// InternalError wraps a fault that no request should be able to cause.
func InternalError(op string, err error) *Error {
	return &Error{
		Kind: KindInternal, Code: "Neo.DatabaseError.General.UnknownError", Type: "InternalError",
		Phase: PhaseRuntime, Detail: "Internal", Msg: op, Err: err,
	}
}

// ConstraintError reports a write that violates a constraint.
func ConstraintError(format string, args ...any) *Error {
	return &Error{
		Kind: KindExists, Code: "Neo.ClientError.Schema.ConstraintValidationFailed", Type: "ConstraintVerificationFailed",
		Phase: PhaseRuntime, Detail: "ConstraintViolation", Msg: fmt.Sprintf(format, args...),
	}
}

// RequiredError reports a write that lacks a property that a constraint requires.
func RequiredError(format string, args ...any) *Error {
	e := ConstraintError(format, args...)
	e.Detail = "Required"
	return e
}

// IndexExists reports an existing index or constraint that conflicts with a new one.
func IndexExists(old *Index) *Error {
	detail := "IndexExists"
	if old.IsConstraint() {
		detail = "ConstraintExists"
	}
	return &Error{
		Kind: KindExists, Code: "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists", Type: "DatabaseError", Phase: PhaseRuntime,
		Detail: detail, Msg: "the index or constraint " + old.Name + " already exists",
	}
}

// NoGraph reports an unknown graph.
func NoGraph(name string) *Error {
	return &Error{
		Kind: KindNotFound, Code: "Neo.ClientError.Database.DatabaseNotFound", Type: "DatabaseError", Phase: PhaseRuntime,
		Detail: "NotFound", Msg: "the graph " + strconv.Quote(name) + " does not exist",
	}
}

// DuplicateGraph reports that a graph of the same name exists.
func DuplicateGraph(name string) *Error {
	return &Error{
		Kind: KindExists, Code: "Neo.ClientError.Database.ExistingDatabaseFound", Type: "ArgumentError", Phase: PhaseRuntime,
		Detail: "GraphExists", Msg: fmt.Sprintf("the graph %q already exists", name),
	}
}

// ConflictError reports a transaction that conflicts with a concurrent one; it can be retried.
func ConflictError(msg string, err error) *Error {
	return &Error{
		Kind: KindConflict, Code: "Neo.TransientError.Transaction.DeadlockDetected", Type: "TransactionError",
		Phase: PhaseRuntime, Detail: "WriteConflict", Msg: msg, Err: err,
	}
}

// UnknownError reports changes that may or may not have happened: a client must check before it retries.
func UnknownError(msg string, err error) *Error {
	return &Error{
		Kind: KindUnknown, Code: "Neo.DatabaseError.Transaction.TransactionCommitFailed", Type: "DatabaseError",
		Phase: PhaseRuntime, Detail: "CommitUnknown", Msg: msg, Err: err,
	}
}

// AsError finds the *Error in a chain, or wraps err as an internal one.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return InternalError("internal error", err)
}
