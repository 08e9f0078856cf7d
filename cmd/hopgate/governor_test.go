package main

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query"
)

// First the cache shrinks, then queries are ended, then the cache grows again.
func TestGovernor(t *testing.T) {
	var used, cache int64
	ended := 0
	kept := 0
	g := &governor{
		keep:  func(time.Time) error { kept++; return nil },
		limit: 1000, cache: 320, now: 320, log: slog.New(slog.DiscardHandler),
		used:   func() int64 { return used },
		resize: func(n int64) { cache = n },
		relieve: func(int64, int64, int64) (query.Largest, bool) {
			ended++
			return query.Largest{Bytes: 100}, true
		},
	}
	used = 800
	g.tick()
	require.EqualValues(t, 320, g.now)
	used = 960
	for _, want := range []int64{160, 80, 40, 20} {
		g.tick()
		require.Equal(t, want, cache)
		require.Zero(t, ended)
	}
	g.tick()
	g.tick()
	require.Equal(t, 2, ended)
	require.Equal(t, 2, kept)
	used = 920
	g.tick()
	require.Equal(t, 2, ended)
	used = 500
	g.tick()
	require.EqualValues(t, 320, cache)
	require.Positive(t, residentMemory())
}
