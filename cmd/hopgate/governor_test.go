package main

import (
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query"
)

// First the cache shrinks, then the past is forgotten and queries are ended, then the cache grows again.
func TestGovernor(t *testing.T) {
	var used, onHeap, cache, heap int64
	ended := 0
	kept := 0
	past := int64(70) // more than one excess
	g := &governor{
		keep:  func(time.Time) error { kept++; return nil },
		limit: 1000, cache: 320, now: 320, log: slog.New(slog.DiscardHandler),
		used:    func() int64 { return used },
		garbage: 15, heap: 300, most: 700, onHeap: func() int64 { return onHeap }, setHeap: func(n int64) { heap = n },
		live: func() int64 { return 7 }, setGarbage: func(bytes, live int64) {
			require.EqualValues(t, 15, bytes)
			require.EqualValues(t, 7, live)
		},
		allocated: func() int64 { return 0 },
		resize:    func(n int64) { cache = n },
		forget: func(n int64) int64 {
			given := min(n, past)
			past -= given
			return given
		},
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
	require.Zero(t, ended, "the past is enough")
	g.tick()
	g.tick()
	require.Equal(t, 2, ended)
	require.Equal(t, 3, kept)
	used = 920
	g.tick()
	require.Equal(t, 2, ended)
	used = 500
	g.tick()
	require.EqualValues(t, 320, cache)
	// The heap may use the rest, but never less than its share nor more than its bound.
	for _, c := range []struct{ used, onHeap, want int64 }{{500, 250, 550}, {505, 254, 550}, {500, 200, 500}, {900, 200, 300}, {500, 450, 700}, {100, 200, 700}} {
		used, onHeap = c.used, c.onHeap
		g.tick()
		require.Equal(t, c.want, heap)
	}
	require.Positive(t, residentMemory())
	runtime.GC()
	require.Positive(t, liveHeap())
	require.Less(t, goMemory(), residentMemory()*4)
}

// A process that rests gives back what it has allocated since it rested before, but not for little, and not while it works.
func TestGovernorRests(t *testing.T) {
	var allocated int64 = 40 << 20 // by the start
	var given []bool
	g := &governor{
		patience: startRestTicks, limit: 1000, used: func() int64 { return 0 }, onHeap: func() int64 { return 0 }, setHeap: func(int64) {},
		live: func() int64 { return 0 }, setGarbage: func(int64, int64) {}, log: slog.New(slog.DiscardHandler),
		allocated: func() int64 { return allocated }, giveBack: func(first bool) { given = append(given, first) },
	}
	look := func(ticks int) []bool {
		given = nil
		for range ticks {
			g.tick()
		}
		return given
	}
	require.Empty(t, look(startRestTicks), "the start has just been")
	require.Equal(t, []bool{true}, look(startRestTicks))
	require.Empty(t, look(3*restTicks), "nothing has been allocated since")
	allocated += dirtyBytes
	require.Empty(t, look(restTicks), "a request has just run")
	require.Equal(t, []bool{false}, look(restTicks))
	for range 10 {
		allocated += restBytes
		require.Empty(t, look(restTicks), "requests run all the time")
	}
	allocated += restBytes - 1
	require.Equal(t, []bool{false}, look(restTicks), "they are few")
	require.Positive(t, allocatedHeap())
}
