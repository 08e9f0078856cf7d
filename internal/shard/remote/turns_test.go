package remote_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// TestTurns lets transactions of a gateway that have begun together change one vertex. The leader has them take turns, so that each
// commits after it has begun again once.
func TestTurns(t *testing.T) {
	const writers = 8
	_, spread := open(t, 3)
	w := fill(t, spread, 6, 2, 1)
	ctx := t.Context()
	begin := func() (shard.Tx, error) { return w.g.Begin(ctx, shard.WriteInTurn) }
	set := func(tx shard.Tx, n int) error {
		props := []graph.Property{{ID: w.num, Value: graph.IntValue(int64(n))}}
		return tx.Apply(ctx, []shard.Mutation{{Op: shard.SetVertex, Vertex: w.ids[3], Props: props}})
	}
	var txs []shard.Tx
	for range writers {
		tx, err := begin()
		require.NoError(t, err)
		txs = append(txs, tx)
	}
	var all sync.WaitGroup
	for n, tx := range txs {
		all.Go(func() {
			defer func() { tx.Rollback() }()
			err := set(tx, n)
			if err != nil && graph.AsError(err).Kind == graph.KindConflict {
				var heir shard.Tx
				if heir, err = begin(); err == nil {
					err = heir.(shard.Heir).Inherit(ctx, tx)
					tx.Rollback()
					tx, err = heir, errors.Join(err, set(heir, n))
				}
			}
			if err = errors.Join(err, tx.Commit(ctx)); err != nil {
				t.Errorf("%v", err)
			}
		})
	}
	all.Wait()
}
