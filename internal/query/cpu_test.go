package query

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/oracle"
)

// Few long-running requests run at one time, so that short ones have cores. A plan stays long-running until it has a short run.
func TestLongRunning(t *testing.T) {
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
	longRunning := func() int {
		e.gate.mu.Lock()
		defer e.gate.mu.Unlock()
		return e.gate.longRunning
	}
	require.Eventually(t, func() bool { return longRunning() == 2 }, patience, time.Millisecond)
	_, err := e.rows(Request{Statement: slow})
	requireBusy(t, err, "long-running")
	_, err = e.rows(Request{Statement: "UNWIND range(1, 10) AS x RETURN sum(x)"})
	require.NoError(t, err)
	cancel(errKilled)
	for range 2 {
		require.Equal(t, "Neo.ClientError.Transaction.Terminated", code(<-ended))
	}
	require.Zero(t, longRunning())
	require.Zero(t, e.cpu.held)
	require.Empty(t, e.cpu.queue)

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

// A request that is cancelled while it waits for a slot does not keep the slot.
func TestCPUSlots(t *testing.T) {
	var s cpuSlots
	n := s.capacity()
	for range n {
		require.True(t, s.acquire(context.Background()))
	}
	require.False(t, s.contended())
	ctx, cancel := context.WithCancel(context.Background())
	left, got := make(chan bool), make(chan bool)
	go func() { left <- s.acquire(ctx) }()
	require.Eventually(t, s.contended, patience, time.Millisecond)
	cancel()
	require.False(t, <-left)
	require.False(t, s.contended())
	go func() { got <- s.acquire(context.Background()) }()
	require.Eventually(t, s.contended, patience, time.Millisecond)
	s.release()
	require.True(t, <-got)
	for range n {
		s.release()
	}
	require.Zero(t, s.held)
}
