package local

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// turnWorld is a graph with a few vertices whose changes take turns.
type turnWorld struct {
	*groupWorld
	ids  []graph.VertexID
	sets atomic.Int64
}

func openTurnWorld(t *testing.T, n int) *turnWorld {
	w := &turnWorld{groupWorld: openGroupWorld(t)}
	tx := w.begin()
	ms := make([]shard.Mutation, n)
	for i := range ms {
		ms[i] = w.vertex(int64(i))
	}
	ctx := context.Background()
	require.NoError(t, tx.Apply(ctx, ms))
	require.NoError(t, tx.Commit(ctx))
	for i := range ms {
		w.ids = append(w.ids, ms[i].Vertex)
	}
	return w
}

func (w *turnWorld) begin() *Tx {
	tx, err := w.g.Begin(context.Background(), shard.WriteInTurn)
	require.NoError(w.t, err)
	w.t.Cleanup(tx.Rollback)
	return tx.(*Tx)
}

// set changes vertex i in a transaction.
func (w *turnWorld) set(ctx context.Context, tx *Tx, i int) error {
	props := []graph.Property{{ID: w.id, Value: graph.IntValue(1000 + w.sets.Add(1))}}
	return tx.Apply(ctx, []shard.Mutation{{Op: shard.SetVertex, Vertex: w.ids[i], Props: props}})
}

// queued waits until n transactions wait for their turn at vertex i.
func (w *turnWorld) queued(i, n int) {
	require.Eventually(w.t, func() bool {
		return w.g.turns.Waiting(shard.Key{ID: uint64(w.ids[i])}) == n
	}, time.Minute, time.Millisecond)
}

func isConflict(err error) bool { return graph.AsError(err).Kind == graph.KindConflict }

// TestTurns lets transactions that have begun together change one vertex: each waits, finds that it sees too little, and begins again
// with its turn; nobody meets a conflict at its commit.
func TestTurns(t *testing.T) {
	const writers = 30
	w := openTurnWorld(t, 1)
	ctx := context.Background()
	var txs []*Tx
	for range writers {
		txs = append(txs, w.begin())
	}
	var all sync.WaitGroup
	for _, tx := range txs {
		all.Go(func() {
			err := w.set(ctx, tx, 0)
			if err != nil {
				if !isConflict(err) {
					t.Errorf("%v", err)
				}
				heir := w.begin()
				if err = heir.Inherit(ctx, tx); err == nil {
					tx.Rollback()
					tx, err = heir, w.set(ctx, heir, 0)
				}
			}
			if err = errors.Join(err, tx.Commit(ctx)); err != nil {
				t.Errorf("%v", err)
			}
		})
	}
	all.Wait()
	require.Zero(t, w.g.turns.Len())
}

// TestTurnsEnd ends the wait for a turn: with the context, with a deadlock, and when the time of the turn is up.
func TestTurnsEnd(t *testing.T) {
	w := openTurnWorld(t, 2)
	ctx := context.Background()
	a, b := w.begin(), w.begin()
	require.NoError(t, w.set(ctx, a, 0))
	require.NoError(t, w.set(ctx, b, 1))

	short, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	c := w.begin()
	go func() { done <- w.set(short, c, 0) }()
	w.queued(0, 1)
	cancel()
	require.Equal(t, graph.KindDeadline, graph.AsError(<-done).Kind)
	w.queued(0, 0)

	go func() { done <- w.set(ctx, b, 0) }()
	w.queued(0, 1)
	require.True(t, isConflict(w.set(ctx, a, 1)), "a waits for b, which waits for a")
	require.NoError(t, <-done, "a has lost its turns")
	a.Rollback()

	d := w.begin()
	w.g.turns.Time = time.Nanosecond
	require.NoError(t, w.set(ctx, d, 1), "the time of b is up")
	require.NoError(t, d.Commit(ctx))
	require.True(t, isConflict(b.Commit(ctx)))
	require.Zero(t, w.g.turns.Len())
}
