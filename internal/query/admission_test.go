package query

import (
	"context"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
)

func as(name string) context.Context {
	return access.WithIdentity(context.Background(), &access.Identity{Name: name, Every: access.Writer})
}

// busyEngine is an engine in which one request runs until end is called.
func busyEngine(t *testing.T, a Admission) (e *Engine, end func()) {
	store := oracle.New(1)
	require.NoError(t, store.CreateGraph(context.Background(), DefaultGraph))
	e = New(store, Options{Admission: a})
	res, err := e.Query(as("ann"), Request{Statement: "RETURN 1"})
	require.NoError(t, err)
	t.Cleanup(func() {
		res.Close()
		require.Equal(t, 0, e.Load().Running)
		require.Equal(t, 0, e.Load().Queued)
		requireIdle(t, e.gate.callers)
	})
	return e, res.Close
}

// requireIdle checks that no requests are left.
func requireIdle(t *testing.T, shares map[owner]*share) {
	t.Helper()
	for name, s := range shares {
		require.Zero(t, s.running+s.waiting+s.longRunning, name)
	}
}

// Idle callers are dropped when there are many.
func TestSharesBounded(t *testing.T) {
	var g gate
	ctx := context.Background()
	var busy Running
	busy.Caller.Name = "busy"
	waited, err := g.enter(ctx, &busy, DefaultGraph, nil)
	require.NoError(t, err)
	require.False(t, waited)
	for i := range 10 * maxIdleShares {
		q := Running{Caller: access.Subject{Name: strconv.Itoa(i)}}
		_, err := g.enter(ctx, &q, strconv.Itoa(i), nil)
		require.NoError(t, err)
		g.leave(&q)
		require.LessOrEqual(t, max(len(g.callers), len(g.graphs)), maxIdleShares)
	}
	require.Equal(t, 1, g.callers[owner{caller: busy.Caller}].running)
	g.leave(&busy)
	requireIdle(t, g.callers)
	requireIdle(t, g.graphs)
}

func requireBusy(t *testing.T, err error, setting string) {
	t.Helper()
	require.ErrorContains(t, err, setting)
	require.Equal(t, graph.KindBusy, graph.AsError(err).Kind)
	require.Equal(t, "Neo.TransientError.Request.NoThreadsAvailable", code(err))
}

// Whatever runs a statement takes a place, and returns it.
func TestAdmissionOfAll(t *testing.T) {
	e, end := busyEngine(t, Admission{Running: 1})
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
	require.Equal(t, uint64(3), e.Load().Refused[QueueFull])
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
	e, end := busyEngine(t, Admission{Running: 1, Queue: 4})
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
	e, _ := busyEngine(t, Admission{Running: 1, Queue: 1, Wait: time.Millisecond})
	_, err := e.rows(Request{Statement: "RETURN 1"})
	requireBusy(t, err, "queue-timeout")
	require.Equal(t, uint64(1), e.Load().Refused[QueueTimeout])
}

// A caller at its limits keeps others neither from running nor from queueing.
func TestAdmissionByCaller(t *testing.T) {
	e, end := busyEngine(t, Admission{Running: 2, Caller: access.Limits{Queries: 1}, Queue: 2})
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

// However requests come and go, no more run than the limit, and none remain in the end.
func TestAdmissionHolds(t *testing.T) {
	g := gate{limits: Admission{Running: 5, Caller: access.Limits{Queries: 2}, Graph: access.Limits{Queries: 4}, Queue: 20, Wait: time.Millisecond}}
	var total atomic.Int32
	var longRunning atomic.Int32
	var of [4]atomic.Int32
	var wg sync.WaitGroup
	var wrong atomic.Int32
	for i := range 40 {
		caller := i % 4
		name := "\x00abc"[caller : caller+1]
		if caller == 0 {
			name = "" // an anonymous caller
		}
		wg.Go(func() {
			for range 200 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(2000))*time.Microsecond)
				q := &Running{Caller: access.Subject{Name: name}}
				if _, err := g.enter(ctx, q, DefaultGraph, nil); err == nil && (i%3 > 0 || g.readmit(ctx, q, true, DefaultGraph) == nil) {
					if q.place.longRunning && longRunning.Add(1) > 1 {
						wrong.Add(1)
					}
					if total.Add(1) > 4 || of[caller].Add(1) > 2 && name != "" {
						wrong.Add(1)
					}
					time.Sleep(time.Duration(rand.IntN(50)) * time.Microsecond)
					of[caller].Add(-1)
					total.Add(-1)
					if q.place.longRunning {
						longRunning.Add(-1)
					}
					g.leave(q)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	require.Zero(t, wrong.Load())
	require.Zero(t, g.running)
	require.Zero(t, g.longRunning)
	require.Empty(t, g.queue)
	requireIdle(t, g.callers)
	requireIdle(t, g.graphs)
}

// A graph at its limits does not affect others. Requests that reach it under another name wait too.
func TestAdmissionByGraph(t *testing.T) {
	e, end := busyEngine(t, Admission{Graph: access.Limits{Queries: 1}})
	ctx := context.Background()
	_, err := e.Query(ctx, Request{Statement: "RETURN 1"})
	requireBusy(t, err, `1 requests of the graph "default" run, its limit of queries (graph-limits)`)
	require.NoError(t, e.store.CreateGraph(ctx, "other"))
	_, err = rowsOf(e.Query(ctx, Request{Statement: "RETURN 1", Graph: "other"}))
	require.NoError(t, err)
	_, err = e.Query(ctx, Request{Statement: "USE default RETURN 1", Graph: "other"})
	requireBusy(t, err, "the graph \"default\"")
	require.Equal(t, 1, e.gate.graphs[owner{graph: DefaultGraph}].running)
	require.Zero(t, e.gate.graphs[owner{graph: "other"}].running+e.gate.graphs[owner{graph: "other"}].waiting)
	end()
	_, err = rowsOf(e.Query(ctx, Request{Statement: "USE default RETURN 1", Graph: "other"}))
	require.NoError(t, err)
}

// The limits of a token override the limits of all callers.
func TestAdmissionByToken(t *testing.T) {
	e, _ := busyEngine(t, Admission{Caller: access.Limits{Queries: 1}})
	own := &access.Identity{Name: "ann", Every: access.Writer, Limits: &access.Limits{Queries: 2}}
	_, err := rowsOf(e.Query(access.WithIdentity(context.Background(), own), Request{Statement: "RETURN 1"}))
	require.NoError(t, err)
	_, err = e.Query(as("ann"), Request{Statement: "RETURN 1"})
	requireBusy(t, err, "user-limits")
}
