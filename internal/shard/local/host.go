package local

import (
	"context"

	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/shard/local/read"
	"github.com/hopgate/hopgate/internal/shard/local/write"
	"github.com/hopgate/hopgate/internal/storage/staging"
)

// host is a graph as its full-text indexes and its maintenance use it.
type host struct{ g *Graph }

// Newest implements text.Graph.
func (h host) Newest() (*read.Snapshot, func()) {
	c := h.g.acquire()
	return &c.Snapshot, func() { h.g.release(c) }
}

// ReadNewest implements text.Graph.
func (h host) ReadNewest() (*read.Tx, func(), error) {
	if err := h.g.Enter(); err != nil {
		return nil, nil, err
	}
	tx := h.g.reader(h.g.acquire())
	tx.Plain()
	return &tx.Tx, tx.Rollback, nil
}

// Defs implements text.Graph and maintain.Graph.
func (h host) Defs() *index.Defs { return h.g.defs.Load() }

// LoadDefs implements text.Graph and maintain.Graph.
func (h host) LoadDefs() { h.g.loadDefs() }

// TryLock implements text.Graph.
func (h host) TryLock() bool {
	select {
	case h.g.writer <- struct{}{}:
		return true
	default:
		return false
	}
}

// Unlock implements text.Graph and maintain.Graph.
func (h host) Unlock() { h.g.unlock() }

// Note implements text.Graph.
func (h host) Note(ctx context.Context, id graph.IndexID, owners []graph.IndexOwner) error {
	return h.Write(ctx, func(_ *read.Tx, m *write.Mutator) error {
		for _, o := range owners {
			m.Writers()[o.Vertex.Shard()].Texts.Note(id, o)
		}
		return nil
	})
}

// Write runs f in a transaction that holds the writer's lock, and commits it.
func (h host) Write(ctx context.Context, f func(tx *read.Tx, m *write.Mutator) error) error {
	t, err := h.g.beginAlways(ctx, shard.WriteExclusive)
	if err != nil {
		return err
	}
	tx := t.(*Tx)
	defer tx.Rollback()
	if err := f(&tx.Tx, tx.Mutator); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// Read implements maintain.Graph.
func (h host) Read(ctx context.Context) (*read.Tx, func(), error) {
	t, err := h.g.beginAlways(ctx, shard.Read)
	if err != nil {
		return nil, nil, err
	}
	tx := t.(*Tx)
	return &tx.Tx, tx.Rollback, nil
}

// Definitions implements commitlog.Graph.
func (h host) Definitions() *definition.Set { return h.g.Catalog.Definitions() }

// Define implements commitlog.Graph.
func (h host) Define(ctx context.Context, c definition.Change) error { return h.g.Define(ctx, c) }

// Lock implements maintain.Graph.
func (h host) Lock(ctx context.Context) error { return h.g.lock(ctx) }

// Relock implements maintain.Graph.
func (h host) Relock() { h.g.writer <- struct{}{} }

// Locked implements maintain.Graph.
func (h host) Locked() bool { return len(h.g.writer) > 0 }

// Enqueue implements maintain.Graph.
func (h host) Enqueue() (publish func() error, err error) {
	p, err := h.g.enqueue()
	return func() error { return h.g.publish(p, nil) }, err
}

// Refresh implements maintain.Graph.
func (h host) Refresh() error { return h.g.refresh() }

// Writable implements maintain.Graph.
func (h host) Writable() error { return h.g.writable() }

// State implements maintain.Graph.
func (h host) State() write.State { return h.g.state() }

// CommitExpired implements maintain.Graph.
func (h host) CommitExpired(ws []*staging.Writer, next int64) error {
	_, _, err := h.g.commit(&change{ws: ws, next: due{next, true}})
	return err
}

// SetDefs implements maintain.Graph.
func (h host) SetDefs(indexes []graph.Index) { h.g.storeDefs(indexes) }

// RemoveIndex implements maintain.Graph.
func (h host) RemoveIndex(ix graph.Index) error { return h.g.removeIndex(ix) }

// DropText implements maintain.Graph.
func (h host) DropText(id graph.IndexID) error { return h.g.texts.Drop(id) }

// SettleText implements maintain.Graph.
func (h host) SettleText(ctx context.Context, id graph.IndexID) error {
	return h.g.texts.Settle(ctx, id)
}

// TextProgress implements maintain.Graph.
func (h host) TextProgress(id graph.IndexID) float64 { return h.g.texts.Progress(id) }
