package storage

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/graph"
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

// Alive reports whether the request may go on.
func Alive(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return graph.DeadlineError(err)
	}
	return nil
}

// fault classifies a fault of a read: damage found by Pebble's checks is KindCorrupt.
func fault(op string, err error) error {
	var e *graph.Error
	switch {
	case errors.As(err, &e):
		return err
	case pebble.IsCorruptionError(err):
		return damaged(op, err)
	}
	return unavailable("storage: "+op, err)
}
