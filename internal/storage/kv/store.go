package kv

import (
	"context"

	"github.com/cockroachdb/pebble/v2"
)

// Store holds the records of one of a shard's two stores: an instance of Pebble in this process, or a peerStore, which
// reaches the process that keeps the shard as a Part.
type Store interface {
	// Label names the store in logs and errors.
	Label() string
	NewBatch() *pebble.Batch
	// Live reads the present state.
	Live() pebble.Reader
	// Snapshot reads the state of this moment. The caller makes sure that nothing is being applied.
	Snapshot() (pebble.Reader, error)
	// Apply puts a batch in and returns once it can be read; wait returns when it is synced. After an error the batch may or
	// may not be there when the store is opened again, and the store takes no more writes. With snap it takes the next
	// snapshot along.
	Apply(b *pebble.Batch, sync, snap bool) (wait func() error, err error)
	// Durable reports that apply returns only when its batch is synced, after a round trip.
	Durable() bool
	// Writable says why the store cannot be written to, or nil.
	Writable() error
	// Guard runs f, which reads or closes, such that the caller survives a fault of the store.
	Guard(f func() error) error
	// Flush makes what was applied durable in tables.
	Flush(ctx context.Context) error
	Stats() Stats
	Close() error
}
