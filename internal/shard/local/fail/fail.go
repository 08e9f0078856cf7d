// Package fail makes the errors of a graph's shards.
package fail

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/hopgate/hopgate/internal/graph"
)

// New makes an error of a database.
func New(kind graph.Kind, code, detail, format string, args ...any) *graph.Error {
	return &graph.Error{
		Kind: kind, Code: code, Type: "DatabaseError", Phase: graph.PhaseRuntime, Detail: detail, Msg: fmt.Sprintf(format, args...),
	}
}

// NotFound reports that a graph or a part of one does not exist.
func NotFound(format string, args ...any) error {
	return New(graph.KindNotFound, "Neo.ClientError.Database.DatabaseNotFound", "NotFound", format, args...)
}

// Exists reports that a graph or a part of one exists already.
func Exists(format string, args ...any) error {
	return New(graph.KindExists, "Neo.ClientError.Database.ExistingDatabaseFound", "Exists", format, args...)
}

// ReadOnly reports a write to a store that is open for reading only.
func ReadOnly() error {
	return New(graph.KindDenied, "Neo.ClientError.General.ReadOnly", "ReadOnly", "the store was opened for reading only")
}

const closedDetail = "Closed"

// Closed reports that the graph is closing.
func Closed() error {
	return New(graph.KindUnavailable, "Neo.TransientError.General.DatabaseUnavailable", closedDetail, "the graph is closing")
}

// IsClosed reports whether an error is that of Closed.
func IsClosed(err error) bool { return graph.AsError(err).Detail == closedDetail }

// Misuse reports a request that does not fit the transaction.
func Misuse(format string, args ...any) error {
	return graph.InternalError(fmt.Sprintf(format, args...), nil)
}

// Invalid reports an argument that cannot be.
func Invalid(format string, args ...any) error {
	return New(graph.KindInvalid, "Neo.ClientError.Statement.ArgumentError", "Invalid", format, args...)
}

// Gone reports a vertex or edge that does not exist.
func Gone(what string, id uint64) error {
	return graph.RuntimeError("EntityNotFound", "DeletedEntityAccess", "%s %d does not exist or has been deleted", what, id)
}

// IsNotExist reports whether an error says that there is no such file.
func IsNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }
