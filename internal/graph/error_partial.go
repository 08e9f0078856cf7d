package graph

import "strings"

// PartiallyCommitted is the code of a request that failed after a part of its changes had been committed.
const PartiallyCommitted = "Neo.DatabaseError.Transaction.TransactionPartiallyCommitted"

// StandError returns the error of a request that failed after a part of its changes, which stand counts, had been committed. It keeps the
// code of the failure, unless that code asks clients to run the request again, which would repeat the part.
func StandError(err error, stand string) *Error {
	e := *AsError(err)
	e.Msg = strings.TrimSuffix(e.Msg, "; run it again") + "; what was committed before stands (" + stand + "): look at it before you run the rest"
	again := e.Kind == KindUnavailable || e.Kind == KindBusy || e.Kind == KindConflict
	if again || strings.HasPrefix(e.Code, "Neo.TransientError.") {
		e.Code, e.Type, e.Detail, e.Retry = PartiallyCommitted, "TransactionError", "PartiallyCommitted", 0
	}
	if again {
		e.Kind = KindUnknown
	}
	return &e
}
