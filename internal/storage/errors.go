package storage

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/graph"
)

// What stored bytes can be wrong with; corrupt adds the place.
var (
	errColumn  = errors.New("malformed column")
	errSegment = errors.New("malformed edge list")
	errDelta   = errors.New("malformed delta record")
	errBitmap  = errors.New("malformed bitmap")
	errRecord  = errors.New("malformed record")
	errNoValue = errors.New("a large value is missing")
)

// corrupt says that a stored record fails its checks.
func corrupt(what string, key []byte, err error) error {
	return graph.CorruptError(fmt.Sprintf("storage: %s at key %x", what, key), err)
}

// damaged makes damage that Pebble's checks have found in a read KindCorrupt; other errors stay as they are.
func damaged(op string, err error) error {
	var e *graph.Error
	if err == nil || errors.As(err, &e) || !pebble.IsCorruptionError(err) {
		return err
	}
	return graph.CorruptError("storage: "+op, locate(err))
}

// locate adds the file and the keys that a checksum fault concerns, where Pebble knows them.
func locate(err error) error {
	info := pebble.ExtractDataCorruptionInfo(err)
	switch {
	case info == nil:
		return err
	case info.Bounds.End.Key == nil: // Pebble knows no keys of blob files
		return fmt.Errorf("file %s: %w", info.Path, info.Details)
	}
	return fmt.Errorf("file %s, keys %x to %x: %w", info.Path, info.Bounds.Start, info.Bounds.End.Key, info.Details)
}

// unavailable says that the store cannot do this now.
func unavailable(msg string, err error) error {
	return &graph.Error{
		Kind: graph.KindUnavailable, Code: "Neo.TransientError.General.DatabaseUnavailable", Type: "StorageError",
		Phase: graph.PhaseRuntime, Detail: "Unavailable", Msg: msg, Err: err,
	}
}
