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
					err = heir.Features().Turns.Inherit(ctx, tx)
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

// TestTakeTurns has a transaction wait at the leader before it reads, and begin again with its turn.
func TestTakeTurns(t *testing.T) {
	_, spread := open(t, 3)
	w := fill(t, spread, 6, 2, 1)
	ctx := t.Context()
	begin := func() shard.Tx {
		tx, err := w.g.Begin(ctx, shard.WriteInTurn)
		require.NoError(t, err)
		t.Cleanup(tx.Rollback)
		return tx
	}
	set := func(tx shard.Tx, n int) error {
		props := []graph.Property{{ID: w.num, Value: graph.IntValue(int64(n))}}
		return tx.Apply(ctx, []shard.Mutation{{Op: shard.SetVertex, Vertex: w.ids[3], Props: props}})
	}
	first, next, heir := begin(), begin(), shard.Tx(nil)
	require.NoError(t, set(first, 7))
	keys := first.Features().Turns.Changes()
	require.Equal(t, []shard.Key{{ID: uint64(w.ids[3])}}, keys)

	left, back := make(chan struct{}), make(chan struct{})
	waits := shard.WithWait(ctx, func() func() { close(left); return func() { close(back) } })
	done := make(chan error, 1)
	go func() { done <- next.Features().Turns.TakeTurns(waits, append(keys, shard.Key{ID: 1, Edge: true})) }()
	<-left
	require.NoError(t, first.Commit(ctx))
	require.Equal(t, graph.KindConflict, graph.AsError(<-done).Kind, "it does not see what first has changed")
	<-back
	heir = begin()
	require.NoError(t, heir.Features().Turns.Inherit(ctx, next))
	next.Rollback()
	require.NoError(t, heir.Features().Turns.TakeTurns(ctx, keys))
	out := [][]graph.Value{make([]graph.Value, 1)}
	require.NoError(t, heir.Properties(ctx, w.ids[3:4], []graph.PropID{w.num}, out))
	require.Equal(t, int64(7), out[0][0].Int())
	require.NoError(t, set(heir, 8))
	require.NoError(t, heir.Commit(ctx))
}
