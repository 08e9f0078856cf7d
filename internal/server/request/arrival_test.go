package request

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// A request that arrives takes memory by its bytes; a sender has half of it, but room for one request; the oldest request always goes on.
func TestArrivals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const unit = 128 << 10
		m := NewMemory(unit, time.Second) // eight units for what arrives
		grow := func(a *Arrival, units int64) error { return a.Grow(t.Context(), units*unit) }
		busy := func(err error) {
			t.Helper()
			require.Equal(t, graph.KindBusy, graph.AsError(err).Kind)
		}
		slow := m.Arrive("ann")
		require.NoError(t, slow.Grow(t.Context(), SmallBody))
		require.Zero(t, m.arriving.held, "a small request holds nothing")
		require.NoError(t, grow(slow, 1))
		require.NoError(t, grow(slow, 1))
		second := m.Arrive("ann")
		require.NoError(t, grow(second, 3))
		busy(grow(second, 4))
		busy(grow(m.Arrive("ann"), 1))

		one := m.Arrive("bob")
		require.NoError(t, grow(one, 4))
		busy(grow(one, 5))
		require.NoError(t, grow(slow, 9), "the oldest")
		busy(grow(m.Arrive("eve"), 1))

		done := make(chan error)
		go func() { done <- grow(one, 5) }()
		synctest.Wait()
		slow.Release()
		require.NoError(t, <-done, "memory has returned")
		second.Release()
		require.NoError(t, grow(m.Arrive("eve"), 3))

		release, err := one.Complete(t.Context(), 5*unit)
		require.NoError(t, err)
		require.EqualValues(t, 3*unit, m.arriving.held)
		third := m.Arrive("ann")
		require.NoError(t, grow(third, 1), "complete requests do not count")
		_, err = third.Complete(t.Context(), unit)
		busy(err)
		release()
		require.NotContains(t, m.arriving.callers, "ann")

		var none *Memory
		require.NoError(t, none.Arrive("ann").Grow(context.Background(), 1<<40))
		none.Arrive("ann").Release()
	})
}
