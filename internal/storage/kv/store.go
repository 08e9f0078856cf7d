package kv

import (
	"context"

	"github.com/cockroachdb/pebble/v2"
)

// Store is one of a shard's two stores: an Instance in this process, or a proxy for one in another process.
type Store interface {
	// Label names the store in logs and errors.
	Label() string
	NewBatch() *pebble.Batch
	// Live reads the current state.
	Live() pebble.Reader
	// Snapshot reads the state as it is now. The caller ensures that no batch is being applied.
	Snapshot() (pebble.Reader, error)
	// Apply applies a batch and returns once it can be read; wait returns once it is synced. After an error the batch may or
	// may not survive a restart, and the store refuses further writes. With snap it also takes the next snapshot.
	Apply(b *pebble.Batch, sync, snap bool) (wait func() error, err error)
	// Durable reports that Apply returns only when its batch is synced, after a round trip.
	Durable() bool
	// Writable returns why the store refuses writes, or nil.
	Writable() error
	// Guard runs f, which reads or closes, and returns even if a fault of the store blocks f.
	Guard(f func() error) error
	// Flush writes what was applied to tables.
	Flush(ctx context.Context) error
	Stats() Stats
	Close() error
}
