package local

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/bulk"
)

// Load implements shard.Graph. A batch holds the writer's lock from its first look-up to its commit, so loads that run
// side by side lose no update.
func (g *Graph) Load(ctx context.Context, l *shard.Load) error {
	l.Rejected, l.Counts, l.Skipped = l.Rejected[:0], shard.LoadCounts{}, false
	t, err := g.Begin(ctx, shard.WriteExclusive)
	if err != nil {
		return err
	}
	tx := t.(*Tx)
	defer tx.Rollback()
	// What a spilled bulk holds is in no list of changes.
	tx.Plain()
	seq, mark := uint64(0), []byte(nil)
	if l.Stream != "" {
		first := tx.Writers()[0]
		if l.Restart {
			err = first.DropMark(l.Stream)
		} else {
			seq, mark, err = first.Mark(l.Stream)
		}
		if err != nil {
			return err
		}
		if l.Skipped = l.Seq <= seq; l.Skipped && !l.Restart {
			return l.Again(seq, mark)
		}
	}
	if l.Unlogged {
		if err := g.log.Unfold(ctx); err != nil {
			return err
		}
	}
	b := bulk.New(ctx, &g.loads, tx, &tx.Log, g.defs.Load(), l)
	if !l.Skipped {
		if err := b.Recall(seq); err != nil {
			return err
		}
		if err := b.Run(); err != nil {
			// The tables may hold keys of vertices that were not created.
			g.loads.Keys = nil
			return err
		}
		if l.Stream != "" {
			tx.Writers()[0].SetMark(l.Stream, l.Seq, l.AppendOutcome(slices.Clone(l.Mark)))
			if err := b.Remember(tx.Writers()[0]); err != nil {
				return err
			}
		}
	}
	tx.End()
	defer g.Leave()
	_, _, err = g.commit(&change{ws: tx.Writers(), load: b, next: due{at: tx.Due()}})
	return err
}

// LoadState implements shard.Graph.
func (g *Graph) LoadState(ctx context.Context, stream string) (seq uint64, mark []byte, err error) {
	t, err := g.Begin(ctx, shard.Read)
	if err != nil {
		return 0, nil, err
	}
	defer t.Rollback()
	return t.(*Tx).Views()[0].Mark(stream)
}
