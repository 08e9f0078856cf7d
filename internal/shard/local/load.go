package local

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/bulk"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/storage/staging"
	"github.com/hopgate/hopgate/internal/storage/stats"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// Load implements shard.Graph. A batch holds the writer's lock from its first look-up to its commit, so loads that run
// side by side lose no update.
func (g *Graph) Load(ctx context.Context, l *shard.Load) error {
	l.Rejected = l.Rejected[:0]
	l.AppliedVertices, l.AppliedEdges, l.Skipped = 0, 0, false
	t, err := g.Begin(ctx, shard.WriteExclusive)
	if err != nil {
		return err
	}
	tx := t.(*Tx)
	defer tx.Rollback()
	// What a spilled bulk holds is in no list of changes.
	tx.plain = true
	if l.Stream != "" {
		first := tx.ws[0]
		seq := uint64(0)
		if !l.Restart {
			if seq, _, err = first.Mark(l.Stream); err != nil {
				return err
			}
		}
		if l.Skipped = l.Seq <= seq; l.Skipped && !l.Restart {
			return nil
		}
		if l.Skipped {
			first.DropMark(l.Stream)
		}
	}
	b := bulk.New(ctx, &g.loads, loadTx{tx}, g.defs.Load(), l)
	if !l.Skipped {
		if err := b.Run(); err != nil {
			// The tables may hold keys of vertices that were not created.
			g.loads.Keys = nil
			return err
		}
		if l.Stream != "" {
			tx.ws[0].SetMark(l.Stream, l.Seq, shard.AppendRejected(slices.Clone(l.Mark), l.Rejected))
		}
	}
	tx.ended.Store(true)
	defer g.leave()
	_, err = g.commit(tx.ws, nil, b.Keys(), due{at: tx.due})
	return err
}

// LoadState implements shard.Graph.
func (g *Graph) LoadState(ctx context.Context, stream string) (seq uint64, mark []byte, err error) {
	t, err := g.Begin(ctx, shard.Read)
	if err != nil {
		return 0, nil, err
	}
	defer t.Rollback()
	return t.(*Tx).views[0].Mark(stream)
}

// loadTx is a transaction as loads use it.
type loadTx struct{ *Tx }

func (tx loadTx) Writers() []*staging.Writer { return tx.ws }
func (tx loadTx) Views() []*view.View        { return tx.views }
func (tx loadTx) Count(c stats.Count) int64  { return tx.count(c) }
func (tx loadTx) Place() *staging.Writer     { return tx.place() }
func (tx loadTx) Stamp() graph.Value         { return tx.stamp() }

func (tx loadTx) Lookup(ix graph.IndexID, tuple []byte) (graph.IndexOwner, bool, error) {
	return tx.lookup(ix, tuple)
}

func (tx loadTx) Prefetch(ctx context.Context, ms []shard.Mutation) error {
	return tx.prefetch(ctx, ms)
}
func (tx loadTx) Mutate(ctx context.Context, m *shard.Mutation) error { return tx.apply(ctx, m) }
func (tx loadTx) NoteDue(d *index.Def, tuple []byte)                  { tx.noteDue(d, tuple) }
func (tx loadTx) Know(id graph.VertexID, set graph.LabelSet)          { put(&tx.sets.one, id, set) }

func (tx loadTx) PutEntry(d *index.Def, vals []graph.Value, o graph.IndexOwner) error {
	return tx.putEntry(d, vals, o)
}

func (tx loadTx) DeleteEntry(d *index.Def, vals []graph.Value, o graph.IndexOwner) error {
	return tx.deleteEntry(d, vals, o)
}
