package maintain

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/shard/local/read"
	"github.com/hopgate/hopgate/internal/shard/local/write"
	"github.com/hopgate/hopgate/internal/storage/staging"
)

// Graph is what maintenance needs of a graph.
type Graph interface {
	// Lock takes the writer's lock, Relock whatever happens; Unlock returns it. Locked reports whether somebody holds it.
	Lock(ctx context.Context) error
	Relock()
	Unlock()
	Locked() bool
	// Enqueue makes a snapshot of the present state. After the lock has ended, publish shows it to readers. Refresh does both while the
	// lock is held.
	Enqueue() (publish func() error, err error)
	Refresh() error
	// Writable says why the graph cannot be written to, or nil.
	Writable() error
	// State is the present state, while the lock is held.
	State() write.State
	// CommitExpired commits the deletion of what has expired, and ends the lock. due is when something else expires.
	CommitExpired(ws []*staging.Writer, due int64) error

	// Defs are the present definitions of indexes. LoadDefs makes them follow the catalog, SetDefs makes them those of some indexes.
	Defs() *index.Defs
	LoadDefs()
	SetDefs(indexes []graph.Index)
	// Read begins a transaction on the newest snapshot, in which nothing has expired.
	Read(ctx context.Context) (tx *read.Tx, end func(), err error)
	// Write runs f in a transaction that holds the writer's lock, and commits it.
	Write(ctx context.Context, f func(tx *read.Tx, m *write.Mutator) error) error
	// RemoveIndex takes an index out and deletes its entries, while the lock is held. DropText deletes what a full-text index has.
	RemoveIndex(ix graph.Index) error
	DropText(id graph.IndexID) error
	// SettleText waits until a full-text index has all that is queued; TextProgress is which part it has, from 0 to 1.
	SettleText(ctx context.Context, id graph.IndexID) error
	TextProgress(id graph.IndexID) float64
}

// until returns a context that ends with stop.
func until(stop <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-stop
		cancel()
	}()
	return ctx, cancel
}
