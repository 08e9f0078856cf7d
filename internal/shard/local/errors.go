package local

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/hopgate/hopgate/internal/graph"
)

func newError(kind graph.Kind, code, detail, format string, args ...any) *graph.Error {
	return &graph.Error{
		Kind: kind, Code: code, Type: "DatabaseError", Phase: graph.PhaseRuntime, Detail: detail, Msg: fmt.Sprintf(format, args...),
	}
}

func notFound(format string, args ...any) error {
	return newError(graph.KindNotFound, "Neo.ClientError.Database.DatabaseNotFound", "NotFound", format, args...)
}

func exists(format string, args ...any) error {
	return newError(graph.KindExists, "Neo.ClientError.Database.ExistingDatabaseFound", "Exists", format, args...)
}

func readOnly() error {
	return newError(graph.KindDenied, "Neo.ClientError.General.ReadOnly", "ReadOnly", "the store was opened for reading only")
}

// closedDetail is that of closed.
const closedDetail = "Closed"

func closed() error {
	return newError(graph.KindUnavailable, "Neo.TransientError.General.DatabaseUnavailable", closedDetail, "the graph is being closed")
}

// misuse says that a request does not fit the transaction.
func misuse(format string, args ...any) error {
	return graph.InternalError(fmt.Sprintf(format, args...), nil)
}

func invalid(format string, args ...any) error {
	return newError(graph.KindInvalid, "Neo.ClientError.Statement.ArgumentError", "Invalid", format, args...)
}

func gone(what string, id uint64) error {
	return graph.RuntimeError("EntityNotFound", "DeletedEntityAccess", "%s %d does not exist or has been deleted", what, id)
}

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }
