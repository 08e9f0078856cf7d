package storage

import (
	"errors"
	"fmt"

	"github.com/hopgate/hopgate/internal/graph"
)

// What stored bytes can be wrong with; corrupt adds the place.
var (
	errColumn  = errors.New("malformed column")
	errSegment = errors.New("malformed edge list")
	errFresh   = errors.New("malformed fresh record")
	errBitmap  = errors.New("malformed bitmap")
	errRecord  = errors.New("malformed record")
	errNoValue = errors.New("a large value is missing")
)

// corrupt says that a stored record fails its checks.
func corrupt(what string, key []byte, err error) error {
	return graph.CorruptError(fmt.Sprintf("storage: %s at key %x", what, key), err)
}

// unavailable says that the store cannot do this now.
func unavailable(msg string, err error) error {
	return &graph.Error{
		Kind: graph.KindUnavailable, Code: "Neo.TransientError.General.DatabaseUnavailable", Type: "StorageError",
		Phase: graph.PhaseRuntime, Detail: "Unavailable", Msg: msg, Err: err,
	}
}
