package turns

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/shard"
)

// TestAtOnce has a transaction join two queues together, and keep its turn at one for as long as it waits in the other.
func TestAtOnce(t *testing.T) {
	ctx := context.Background()
	ts, keys := &Queues{}, []shard.Key{{ID: 1}, {ID: 2}}
	a, b, c := &Taker{}, &Taker{}, &Taker{}
	take := func(tx *Taker, keys ...shard.Key) chan error {
		done := make(chan error, 1)
		go func() { done <- ts.Wait(ctx, tx, keys, nil) }()
		return done
	}
	queued := func(k shard.Key) {
		require.Eventually(t, func() bool { return ts.Waiting(k) == 1 }, time.Minute, time.Millisecond)
	}
	require.NoError(t, <-take(a, keys[0]))
	both := take(b, keys...)
	queued(keys[0])
	last := take(c, keys[1])
	queued(keys[1])

	ts.mu.Lock()
	at := ts.keys[keys[1]]
	require.Same(t, b, at.holder)
	at.since = time.Now().Add(-turnTime)
	ts.next(at.waiting[0])
	require.Same(t, b, at.holder, "it waits itself")
	ts.mu.Unlock()

	ts.Leave(a)
	require.NoError(t, <-both)
	require.Equal(t, 1, ts.Waiting(keys[1]))
	ts.Leave(b)
	require.NoError(t, <-last)
	ts.Leave(c)
	require.Zero(t, ts.Len())
}
