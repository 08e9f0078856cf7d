package kv

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/graph"
)

// Corrupt says that a stored record fails its checks.
func Corrupt(what string, key []byte, err error) error {
	return graph.CorruptError(fmt.Sprintf("storage: %s at key %x", what, key), err)
}

// Damaged turns damage that a read has found into an error of KindCorrupt; other errors stay as they are.
func Damaged(op string, err error) error {
	var e *graph.Error
	if err == nil || errors.As(err, &e) || !pebble.IsCorruptionError(err) {
		return err
	}
	return graph.CorruptError("storage: "+op, Locate(err))
}

// Locate adds the file and the keys that a checksum fault concerns, where Pebble knows them.
func Locate(err error) error {
	info := pebble.ExtractDataCorruptionInfo(err)
	switch {
	case info == nil:
		return err
	case info.Bounds.End.Key == nil: // Pebble knows no keys of blob files
		return fmt.Errorf("file %s: %w", info.Path, info.Details)
	}
	return fmt.Errorf("file %s, keys %x to %x: %w", info.Path, info.Bounds.Start, info.Bounds.End.Key, info.Details)
}

// Unavailable says that the store cannot do this at the moment.
func Unavailable(msg string, err error) error {
	return &graph.Error{
		Kind: graph.KindUnavailable, Code: "Neo.TransientError.General.DatabaseUnavailable", Type: "StorageError",
		Phase: graph.PhaseRuntime, Detail: "Unavailable", Msg: msg, Err: err,
	}
}

// Alive returns an error if the request was cancelled or its time is up.
func Alive(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return graph.DeadlineError(err)
	}
	return nil
}

// Fault classifies a fault of a read: damage found by Pebble's checks is KindCorrupt.
func Fault(op string, err error) error {
	var e *graph.Error
	switch {
	case errors.As(err, &e):
		return err
	case pebble.IsCorruptionError(err):
		return Damaged(op, err)
	}
	return Unavailable("storage: "+op, err)
}
