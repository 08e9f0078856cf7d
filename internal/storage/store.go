package storage

import (
	"context"

	"github.com/cockroachdb/pebble/v2"
)

// store holds the records of one of a shard's two stores: an instance of Pebble in this process, or a peerStore, which
// reaches the process that keeps the shard as a Part.
type store interface {
	// label names the store in logs and errors.
	label() string
	newBatch() *pebble.Batch
	// live reads the present state.
	live() pebble.Reader
	// snapshot reads the state of this moment. The caller makes sure that nothing is being applied.
	snapshot() (pebble.Reader, error)
	// apply puts a batch in and returns once it can be read; wait returns when it is synced. After an error the batch may or
	// may not be there when the store is opened again, and the store takes no more writes. With snap it takes the next
	// snapshot along.
	apply(b *pebble.Batch, sync, snap bool) (wait func() error, err error)
	// durable reports that apply returns only when its batch is synced, after a round trip.
	durable() bool
	// writable says why the store cannot be written to, or nil.
	writable() error
	// guard runs f, which reads or closes, such that the caller survives a fault of the store.
	guard(f func() error) error
	// flush makes what was applied durable in tables.
	flush(ctx context.Context) error
	stats() InstanceStats
	close() error
}
