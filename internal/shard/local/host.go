package local

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/shard/local/read"
	"github.com/hopgate/hopgate/internal/shard/local/write"
)

// host is a graph as its full-text indexes and its maintenance use it.
type host struct{ g *Graph }

// Newest implements text.Graph.
func (h host) Newest() (*read.Snapshot, func()) {
	c := h.g.acquire()
	return &c.Snapshot, func() { h.g.release(c) }
}

// Read implements text.Graph.
func (h host) Read() (*read.Tx, func(), error) {
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
