package graph

import "fmt"

// transactionError is an error about a transaction as a whole; code is what follows "Neo." in the status code.
func transactionError(kind Kind, code, phase, detail, msg string) *Error {
	return &Error{Kind: kind, Code: "Neo." + code, Type: "TransactionError", Phase: phase, Detail: detail, Msg: msg}
}

// TransactionNotFound reports that a transaction does not exist, or has ended; why follows the message.
func TransactionNotFound(why string) *Error {
	return transactionError(KindNotFound, "ClientError.Transaction.TransactionNotFound", PhaseRuntime, "TransactionNotFound",
		"there is no such transaction"+why)
}

// ConcurrentAccess refuses a statement while another one of the same transaction runs.
func ConcurrentAccess() *Error {
	return transactionError(KindInvalid, "ClientError.Transaction.TransactionAccessedConcurrently", PhaseRuntime, "ConcurrentAccess",
		"a statement of this transaction is still running, or its rows have not all been read")
}

// ForbiddenInTransaction refuses a statement that cannot run in an explicit transaction.
func ForbiddenInTransaction(what string) *Error {
	return transactionError(KindInvalid, "ClientError.Transaction.ForbiddenDueToTransactionType", PhaseCompile, "ExplicitTransaction",
		what+" cannot run in this explicit transaction")
}

// ImplicitTransactionOnly refuses a statement that commits by itself. Tools match its words.
func ImplicitTransactionOnly() *Error {
	return transactionError(KindInvalid, "DatabaseError.Transaction.TransactionStartFailed", PhaseCompile, "ExplicitTransaction",
		"a query with CALL { … } IN TRANSACTIONS can only be executed in an implicit transaction, but tried to execute in an explicit transaction")
}

// InvalidBookmark refuses a bookmark that this server did not issue.
func InvalidBookmark(text string) *Error {
	return transactionError(KindInvalid, "ClientError.Transaction.InvalidBookmark", PhaseCompile, "InvalidBookmark",
		fmt.Sprintf("%.100q is not a bookmark of this server", text))
}

// TransactionTerminated reports that the client ended the transaction.
func TransactionTerminated(msg string) *Error {
	return transactionError(KindDeadline, "ClientError.Transaction.Terminated", PhaseRuntime, "Terminated", msg)
}

// TransactionIdle reports that the server ended a transaction that its client left idle.
func TransactionIdle(msg string) *Error {
	return transactionError(KindDeadline, "ClientError.Transaction.TransactionTimedOut", PhaseRuntime, "Idle", msg)
}

// LockWaitEnded reports that a transaction had to end while it waited for others that change the same.
func LockWaitEnded(err error) *Error {
	e := transactionError(KindDeadline, "ClientError.Transaction.LockClientStopped", PhaseRuntime, "LockWaitEnded",
		"the statement was terminated while it waited for another transaction that changes the same vertex or edge")
	e.Err = err
	return e
}
