package query

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query/admission"
)

func as(name string) context.Context {
	return access.WithIdentity(context.Background(), &access.Identity{Name: name, Every: access.Writer})
}

// busyEngine is an engine in which one request runs until end is called.
func busyEngine(t *testing.T, a admission.Limits) (e *Engine, end func()) {
	store := oracle.New(1)
	require.NoError(t, store.CreateGraph(context.Background(), DefaultGraph))
	e = New(store, Options{Admission: a})
	res, err := e.Query(as("ann"), Request{Statement: "RETURN 1"})
	require.NoError(t, err)
	t.Cleanup(func() {
		res.Close()
		require.Equal(t, 0, e.Load().Running)
		require.Equal(t, 0, e.Load().Queued)
	})
	return e, res.Close
}

func requireBusy(t *testing.T, err error, setting string) {
	t.Helper()
	require.ErrorContains(t, err, setting)
	require.Equal(t, graph.KindBusy, graph.AsError(err).Kind)
	require.Equal(t, "Neo.TransientError.Request.NoThreadsAvailable", code(err))
}

// Whatever runs a statement takes a place, and returns it.
func TestAdmissionOfAll(t *testing.T) {
	e, end := busyEngine(t, admission.Limits{Running: 1})
	ctx := context.Background()
	_, err := e.rows(Request{Statement: "RETURN 1"})
	requireBusy(t, err, "max-queries")
	answer, err := e.Fetch(ctx, FetchRequest{Method: "get", Body: []byte("{}")}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, 429, answer)
	tx, err := e.Begin(ctx, TxOptions{})
	require.NoError(t, err)
	_, err = tx.Run(ctx, Request{Statement: "RETURN 1"})
	requireBusy(t, err, "max-queue")
	require.Equal(t, uint64(3), e.Load().Refused[admission.QueueFull])
	require.NoError(t, e.Probe(ctx), "the server's own probe is let in")
	end()
	tx, err = e.Begin(ctx, TxOptions{})
	require.NoError(t, err)
	for range 3 {
		_, err = e.rows(Request{Statement: "RETURN 1"})
		require.NoError(t, err)
		_, err = e.rows(Request{Statement: "RETURN"})
		require.Equal(t, "Neo.ClientError.Statement.SyntaxError", code(err))
		_, err = e.Fetch(ctx, FetchRequest{Method: "get", Body: []byte("{")}, io.Discard)
		require.NoError(t, err)
		_, err = rowsOf(tx.Run(ctx, Request{Statement: "RETURN 1"}))
		require.NoError(t, err)
	}
	require.NoError(t, tx.Commit(ctx))
}

// A queued request leaves when it is admitted, times out, is killed, or its client disconnects.
func TestAdmissionQueue(t *testing.T) {
	e, end := busyEngine(t, admission.Limits{Running: 1, Queue: 4})
	queued := func(n int) {
		t.Helper()
		require.Eventually(t, func() bool { return e.Load().Queued == n }, patience, time.Millisecond)
	}
	results := make(chan error, 4)
	ask := func(ctx context.Context, timeout time.Duration) {
		_, err := rowsOf(e.Query(ctx, Request{Statement: "RETURN 1", Timeout: timeout}))
		results <- err
	}
	go ask(context.Background(), time.Millisecond)
	require.Equal(t, graph.KindDeadline, graph.AsError(<-results).Kind)
	ctx, cancel := context.WithCancel(context.Background())
	go ask(ctx, 0)
	queued(1)
	cancel()
	require.Equal(t, graph.KindDeadline, graph.AsError(<-results).Kind)
	go ask(context.Background(), 0)
	queued(1)
	waiting := e.Running(context.Background())
	require.True(t, e.Kill(context.Background(), waiting[len(waiting)-1].ID))
	require.Equal(t, "Neo.ClientError.Transaction.Terminated", code(<-results))
	for range 4 {
		go ask(context.Background(), 0)
	}
	queued(4)
	_, err := e.rows(Request{Statement: "RETURN 1"})
	requireBusy(t, err, "max-queue")
	end()
	for range 4 {
		require.NoError(t, <-results)
	}
}

func TestAdmissionWait(t *testing.T) {
	e, _ := busyEngine(t, admission.Limits{Running: 1, Queue: 1, Wait: time.Millisecond})
	_, err := e.rows(Request{Statement: "RETURN 1"})
	requireBusy(t, err, "queue-timeout")
	require.Equal(t, uint64(1), e.Load().Refused[admission.QueueTimeout])
}

// A caller at its limits keeps others neither from running nor from queueing.
func TestAdmissionByCaller(t *testing.T) {
	e, end := busyEngine(t, admission.Limits{Running: 2, Caller: access.Limits{Queries: 1}, Queue: 2})
	waited := make(chan error, 1)
	go func() {
		_, err := rowsOf(e.Query(as("ann"), Request{Statement: "RETURN 1"}))
		waited <- err
	}()
	require.Eventually(t, func() bool { return e.Load().Queued == 1 }, patience, time.Millisecond)
	_, err := e.Query(as("ann"), Request{Statement: "RETURN 1"})
	requireBusy(t, err, "1 requests of ann run, its limit of queries (user-limits)")
	_, err = rowsOf(e.Query(as("bob"), Request{Statement: "RETURN 1"}))
	require.NoError(t, err)
	end()
	require.NoError(t, <-waited)
}

// A graph at its limits does not affect others. Requests that reach it under another name wait too.
func TestAdmissionByGraph(t *testing.T) {
	e, end := busyEngine(t, admission.Limits{Graph: access.Limits{Queries: 1}})
	ctx := context.Background()
	_, err := e.Query(ctx, Request{Statement: "RETURN 1"})
	requireBusy(t, err, `1 requests of the graph "default" run, its limit of queries (graph-limits)`)
	require.NoError(t, e.store.CreateGraph(ctx, "other"))
	_, err = rowsOf(e.Query(ctx, Request{Statement: "RETURN 1", Graph: "other"}))
	require.NoError(t, err)
	_, err = e.Query(ctx, Request{Statement: "USE default RETURN 1", Graph: "other"})
	requireBusy(t, err, "the graph \"default\"")
	_, err = rowsOf(e.Query(ctx, Request{Statement: "RETURN 1", Graph: "other"}))
	require.NoError(t, err, "which does not count against the graph that it came by")
	end()
	_, err = rowsOf(e.Query(ctx, Request{Statement: "USE default RETURN 1", Graph: "other"}))
	require.NoError(t, err)
}

// The limits of a token override the limits of all callers.
func TestAdmissionByToken(t *testing.T) {
	e, _ := busyEngine(t, admission.Limits{Caller: access.Limits{Queries: 1}})
	own := &access.Identity{Name: "ann", Every: access.Writer, Limits: &access.Limits{Queries: 2}}
	_, err := rowsOf(e.Query(access.WithIdentity(context.Background(), own), Request{Statement: "RETURN 1"}))
	require.NoError(t, err)
	_, err = e.Query(as("ann"), Request{Statement: "RETURN 1"})
	requireBusy(t, err, "user-limits")
}
