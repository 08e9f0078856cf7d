package shard

import (
	"errors"

	"github.com/hopgate/hopgate/internal/graph"
)

// The details of errors after which a transaction can go no further, since a process of a cluster has restarted or lags behind
// the others. Nothing of it was committed, and another transaction may succeed.
const (
	SnapshotGone    = "CutGone"
	SnapshotAhead   = "SnapshotAhead"
	TransactionLost = "TransactionLost"
)

// Retriable reports whether an error is one of those.
func Retriable(err error) bool {
	var e *graph.Error
	return errors.As(err, &e) && (e.Detail == SnapshotGone || e.Detail == SnapshotAhead || e.Detail == TransactionLost)
}
