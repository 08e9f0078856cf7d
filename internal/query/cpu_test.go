package query

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query/admission"
)

// Few long-running requests run at one time, so that short ones have cores. A plan stays long-running until it has a short run.
func TestLongRunning(t *testing.T) {
	store := oracle.New(1)
	require.NoError(t, store.CreateGraph(context.Background(), DefaultGraph))
	e := New(store, Options{Admission: admission.Limits{Running: 16, Queue: 64, Wait: 20 * time.Millisecond}})
	ctx, cancel := context.WithCancelCause(context.Background())
	ended := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := rowsOf(e.Query(ctx, Request{Statement: slow}))
			ended <- err
		}()
	}
	longRunning := func() int { return e.Load().LongRunning }
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
	require.Zero(t, e.Load().Cores)

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
