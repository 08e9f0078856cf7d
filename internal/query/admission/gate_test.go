package admission

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
)

// requireIdle checks that no requests are left.
func requireIdle(t *testing.T, shares map[owner]*share) {
	t.Helper()
	for name, s := range shares {
		require.Zero(t, s.running+s.waiting+s.longRunning, name)
	}
}

// Idle callers are dropped when there are many.
func TestSharesBounded(t *testing.T) {
	g := New(Limits{}, nil)
	var busy Ticket
	require.NoError(t, busy.Enter(t.Context(), g, access.Subject{Name: "busy"}, "g", nil, time.Now()))
	require.Nil(t, busy.spent, "it has not waited")
	for i := range 10 * maxIdleShares {
		var q Ticket
		require.NoError(t, q.Enter(t.Context(), g, access.Subject{Name: strconv.Itoa(i)}, strconv.Itoa(i), nil, time.Now()))
		q.Leave()
		require.LessOrEqual(t, max(len(g.callers), len(g.graphs)), maxIdleShares)
	}
	require.Equal(t, 1, g.callers[owner{caller: busy.place.caller.of.caller}].running)
	busy.Leave()
	requireIdle(t, g.callers)
	requireIdle(t, g.graphs)
}

// However requests come and go, no more run than the limit, and none remain in the end.
func TestLimitsHold(t *testing.T) {
	g := New(Limits{Running: 5, Caller: access.Limits{Queries: 2}, Graph: access.Limits{Queries: 4}, Queue: 20, Wait: time.Millisecond}, nil)
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
				q := &Ticket{}
				err := q.Enter(ctx, g, access.Subject{Name: name}, "g", nil, time.Now())
				if err == nil && (i%3 > 0 || q.readmit(ctx, true, "g") == nil) {
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
					q.Leave()
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
