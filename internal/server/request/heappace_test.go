package request

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// While any load runs, garbage may grow further, and afterwards as far as before; in a small heap it may always.
func TestHeapPace(t *testing.T) {
	t.Setenv("GOGC", "")
	now := func() int {
		percent := debug.SetGCPercent(1)
		debug.SetGCPercent(percent)
		return percent
	}
	before := debug.SetGCPercent(123)
	heapPace = pace{}
	defer func() {
		debug.SetGCPercent(before)
		heapPace = pace{}
	}()
	first, second := Hurry(), Hurry()
	first()
	require.Equal(t, loadGCPercent, now())
	second()
	require.Equal(t, 123, now())

	for _, c := range []struct{ garbage, live, want int64 }{
		{64, 32, 200}, {64, 30, 200}, {64, 0, 1000}, {64, 1, 1000}, {64, 16, 400}, {64, 1000, 100},
	} {
		SetGarbage(c.garbage<<20, c.live<<20)
		require.EqualValues(t, c.want, now(), c)
	}
	end := Hurry()
	SetGarbage(64<<20, 32<<20)
	require.Equal(t, loadGCPercent, now())
	SetGarbage(64<<20, 8<<20)
	require.Equal(t, 800, now())
	end()
	require.Equal(t, 800, now())
	t.Setenv("GOGC", "50")
	SetGarbage(64<<20, 32<<20)
	require.Equal(t, 800, now())
}
