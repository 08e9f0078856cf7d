package cache

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// TestChangeLog compares what a log says with a list of all changes, until it has forgotten the first ones.
func TestChangeLog(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	var l changeLog
	type change struct{ seq, first, n uint64 }
	var all []change
	for seq := uint64(1); seq <= 200; seq++ {
		for range rng.IntN(3) {
			c := change{seq, rng.Uint64N(50), 1 + rng.Uint64N(5)}
			all = append(all, c)
			l.add(c.seq, c.first, c.n)
		}
		after := rng.Uint64N(seq + 1)
		upTo := after + rng.Uint64N(seq+1-after)
		want := map[uint32]bool{}
		for _, c := range all {
			if c.seq > after && c.seq <= upTo {
				for i := range c.n {
					want[uint32(c.first+i)] = true
				}
			}
		}
		got, ok := l.between([]uint32{7}, after, upTo, math.MaxInt)
		require.True(t, ok)
		require.Equal(t, uint32(7), got[0], "what was there")
		require.Len(t, got, 1+len(want), "each once")
		for _, v := range got[1:] {
			require.True(t, want[v])
		}
	}
	_, ok := l.between(nil, 0, 200, 5)
	require.False(t, ok, "more than were asked for")
	for i := range uint64(mostLogged) {
		l.add(300+i/2, 2*i%1000, 1)
	}
	require.LessOrEqual(t, len(l.entries), mostLogged)
	_, ok = l.between(nil, 200, 1<<40, math.MaxInt)
	require.False(t, ok, "forgotten")
	got, ok := l.between(nil, l.since, l.since+1, math.MaxInt)
	require.True(t, ok)
	require.Len(t, got, 2)
	l.add(1<<40, math.MaxUint32+5, 3) // no graph has such a vertex
	got, ok = l.between(nil, 1<<40-1, 1<<40, math.MaxInt)
	require.True(t, ok)
	require.Empty(t, got)
}

func vectorOf(x ...float64) graph.Value {
	list := make([]graph.Value, len(x))
	for i := range x {
		list[i] = graph.FloatValue(x[i])
	}
	return graph.ListValue(list)
}

// TestGraphRefused builds no graph that is too small or does not fit into the budget, and none from a state of before its log, and tries
// again after as many changes as may make the difference.
func TestGraphRefused(t *testing.T) {
	c := New(Options{Budget: 1 << 20})
	defer c.Close()
	columns := c.NewColumns(0)
	defer columns.Close()
	columns.ChangedRange(5, 3, 0, 10)
	key := GraphKey{Label: 1, Prop: 3, Dimensions: 2, M: 4, EfConstruction: 10}
	x := columns.Graph(key)
	require.Same(t, x, columns.Graph(key))
	_, _, _, ok := x.Write(4)
	require.False(t, ok, "a commit that the log does not know may be missing")
	due := func() bool {
		var v ColumnView
		columns.Open(&v, 9, 100, nil, nil, nil)
		defer v.Close()
		var res GraphSearch
		require.False(t, v.Nearest(x, nil, 1, &res))
		return res.Due
	}
	require.True(t, due())
	w, _, rebuild, ok := x.Write(5)
	require.True(t, ok)
	require.True(t, rebuild)
	require.False(t, due(), "it is being written")
	require.False(t, w.Fits(10, 20))
	w.End(false)
	require.False(t, due())
	columns.ChangedRange(6, 4, 0, 10)
	require.False(t, due(), "another property")
	columns.ChangedRange(6, LabelProp, 0, 10)
	require.True(t, due())
	w, _, _, ok = x.Write(6)
	require.True(t, ok)
	require.False(t, w.Fits(100_000, 20), "more than the budget")
	w.End(false)
	require.False(t, due())
	require.Zero(t, c.Stats().Used)
}

// TestGraphUnfit gives up a graph of vectors that its arithmetic does not fit, and returns its memory.
func TestGraphUnfit(t *testing.T) {
	c := New(Options{Budget: 8 << 20})
	defer c.Close()
	columns := c.NewColumns(0)
	defer columns.Close()
	x := columns.Graph(GraphKey{Prop: 3, Similarity: graph.Euclidean, Dimensions: 2, M: 4, EfConstruction: 10})
	w, _, _, ok := x.Write(1)
	require.True(t, ok)
	require.True(t, w.Fits(3000, 20))
	given := uint64(0)
	require.True(t, w.Put(given, vectorOf(1, 2)))
	for ok = true; ok; given++ {
		ok = w.Put(given+1, vectorOf(1e30, float64(given)))
	}
	require.Equal(t, uint64(mostApart+1), given)
	require.Positive(t, c.Stats().Used)
	w.End(false)
	c.reclaim()
	require.Zero(t, c.Stats().Used)
	_, _, _, ok = x.Write(2)
	require.False(t, ok)
}
