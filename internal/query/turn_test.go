package query

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/oracle"
)

// Costly requests take turns, few of them at one time, and leave room for short ones. What is costly is remembered, and
// forgotten when it is no longer.
func TestCostly(t *testing.T) {
	store := oracle.New(1)
	require.NoError(t, store.CreateGraph(context.Background(), DefaultGraph))
	e := New(store, Options{Admission: Admission{Running: 16, Queue: 64, Wait: 20 * time.Millisecond}})
	ctx, cancel := context.WithCancelCause(context.Background())
	ended := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := rowsOf(e.Query(ctx, Request{Statement: slow}))
			ended <- err
		}()
	}
	costly := func() int {
		e.gate.mu.Lock()
		defer e.gate.mu.Unlock()
		return e.gate.costly
	}
	require.Eventually(t, func() bool { return costly() == 2 }, patience, time.Millisecond)
	_, err := e.rows(Request{Statement: slow})
	requireBusy(t, err, "costly")
	_, err = e.rows(Request{Statement: "UNWIND range(1, 10) AS x RETURN sum(x)"})
	require.NoError(t, err)
	cancel(errKilled)
	for range 2 {
		require.Equal(t, "Neo.ClientError.Transaction.Terminated", code(<-ended))
	}
	require.Zero(t, costly())
	require.Zero(t, e.turns.taken)
	require.Empty(t, e.turns.queue)

	g, err := store.Graph(DefaultGraph)
	require.NoError(t, err)
	known, err := e.prepare(context.Background(), g, slow)
	require.NoError(t, err)
	require.True(t, known.exec.LongRunning(), "although one was refused before it did anything")
	p, err := e.prepare(context.Background(), g, "RETURN 1 AS one")
	require.NoError(t, err)
	p.exec.SetLongRunning(true)
	_, err = e.rows(Request{Statement: "RETURN 1 AS one"})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := e.rows(Request{Statement: "RETURN 1 AS one"})
		return err == nil && !p.exec.LongRunning()
	}, patience, time.Millisecond)
}

// Whoever waits for a turn and is ended does not keep it.
func TestTurns(t *testing.T) {
	var s turns
	n := s.room()
	for range n {
		require.True(t, s.take(context.Background()))
	}
	require.False(t, s.wanted())
	ctx, cancel := context.WithCancel(context.Background())
	left, got := make(chan bool), make(chan bool)
	go func() { left <- s.take(ctx) }()
	require.Eventually(t, s.wanted, patience, time.Millisecond)
	cancel()
	require.False(t, <-left)
	require.False(t, s.wanted())
	go func() { got <- s.take(context.Background()) }()
	require.Eventually(t, s.wanted, patience, time.Millisecond)
	s.give()
	require.True(t, <-got)
	for range n {
		s.give()
	}
	require.Zero(t, s.taken)
}
