package memory

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// A Charge takes memory until its context ends or it is released, and none beyond a limit.
func TestCharge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := &Pool{Limit: 1 << 20}
		charge := func(ctx context.Context) *Charge { return NewCharge(ctx, pool, 3<<18) }
		ctx, end := context.WithCancel(t.Context())
		c := charge(ctx)
		require.NoError(t, c.Add(chargeStep-1))
		require.Zero(t, pool.Held()) // small requests take none
		require.NoError(t, c.Add(1<<19))
		require.GreaterOrEqual(t, pool.Held(), int64(1<<19))
		require.ErrorContains(t, c.Add(1<<19), "query-memory")

		d := charge(t.Context())
		err := d.Add(5 << 17)
		require.ErrorContains(t, err, "others hold too much of the 1048576 that all statements together may hold")
		require.Equal(t, graph.KindBudget, graph.AsError(err).Kind)
		require.Equal(t, "Neo.TransientError.General.OutOfMemoryError", graph.AsError(err).Code)
		d.Release()

		end()
		synctest.Wait()
		require.Zero(t, pool.Held())
		require.Error(t, c.Add(1))
		c.Release()
		require.Zero(t, pool.Held())
		require.NoError(t, (*Charge)(nil).Add(1<<40))

		// What exceeds the memory of all statements by itself, a retry does not help.
		charge = func(ctx context.Context) *Charge { return NewCharge(ctx, pool, 1<<22) }
		for _, bytes := range []int{1<<20 - chargeStep + 1, 1 << 21} {
			err = charge(t.Context()).Add(bytes)
			require.ErrorContains(t, err, "all statements together may hold 1048576")
			require.NotEqual(t, "Neo.TransientError.General.OutOfMemoryError", graph.AsError(err).Code)
		}
		require.NoError(t, charge(ctx).Add(1<<20-chargeStep))
	})
}
