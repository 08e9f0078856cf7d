package groups

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage/cache"
)

// ints are cells as a column of integers keeps them.
func ints(base int64, narrow ...uint32) cache.Cells {
	return cache.Cells{Base: base, Narrow: narrow, Most: uint64(max(-base, base) + 100)}
}

func values(vs ...graph.Value) cache.Cells { return cache.Cells{Vals: vs} }

func all(n int) (places []uint32) {
	for i := range n {
		places = append(places, uint32(i))
	}
	return places
}

// TestKeys groups by codes and by values: a text is in one group wherever it comes from.
func TestKeys(t *testing.T) {
	a, b := graph.StringValue("a"), graph.StringValue("b")
	g := New(&shard.Aggregate{
		Props: []graph.PropID{1, 2}, Keys: []int{0, 1}, Members: true,
		Aggs: []shard.PartialAgg{{Func: shard.AggSum, Prop: 1}, {Func: shard.AggMin, Prop: 0}, {Func: shard.AggCount, Prop: 0}},
	}, false)
	coded := cache.Cells{Codes: []uint16{1, 0, 1, 2}, Dict: []graph.Value{a, b, {}}}
	require.NoError(t, g.Rows(100, all(4), []cache.Cells{coded, ints(-3, 0, 0, 0, 5)}))
	require.NoError(t, g.Rows(200, []uint32{1}, []cache.Cells{values(a, b), ints(0, 0, 1<<32-1)}))
	require.NoError(t, g.Rows(300, []uint32{0}, []cache.Cells{values(b), values(graph.IntValue(-3))}))
	out, err := g.Groups()
	require.NoError(t, err)
	var texts []string
	for _, v := range out[0].Keys[0] {
		if v.IsNull() {
			texts = append(texts, "null")
		} else {
			texts = append(texts, v.Str())
		}
	}
	require.Equal(t, []string{"b", "a", "null", "b"}, texts)
	out[0].Keys[0] = nil
	require.Equal(t, []*shard.Groups{{
		First: []graph.VertexID{100, 101, 103, 201}, Rows: []int64{3, 1, 1, 1},
		Keys:    [][]graph.Value{nil, {graph.IntValue(-3), graph.IntValue(-3), graph.IntValue(2), graph.IntValue(1<<32 - 1)}},
		Counts:  [][]int64{{3, 1, 1, 1}, {3, 1, 0, 1}, {3, 1, 0, 1}},
		Values:  [][]graph.Value{{graph.IntValue(-9), graph.IntValue(-3), graph.IntValue(2), graph.IntValue(1<<32 - 1)}, {b, a, {}, b}, make([]graph.Value, 4)},
		Members: []graph.VertexID{100, 101, 102, 103, 201, 300}, MemberOf: []uint32{0, 1, 0, 2, 3, 0},
	}}, out)
}

// TestFloats adds floats up in their order only, as rows are: the sum and its correction are entries of their own.
func TestFloats(t *testing.T) {
	req := &shard.Aggregate{Props: []graph.PropID{1}, Aggs: []shard.PartialAgg{{Func: shard.AggSum}}}
	cells := []cache.Cells{values(graph.FloatValue(1e16), graph.IntValue(4), graph.FloatValue(1), graph.Value{})}
	require.ErrorIs(t, New(req, false).Rows(0, all(4), cells), shard.ErrOrder)
	g := New(req, true)
	require.NoError(t, g.Rows(0, all(4), cells))
	out, err := g.Groups()
	require.NoError(t, err)
	require.Equal(t, []int64{4, 0, 0}, out[0].Rows)
	require.Equal(t, [][]int64{{1, 1, 1}}, out[0].Counts)
	require.Equal(t, [][]graph.Value{{graph.IntValue(4), graph.FloatValue(1e16), graph.FloatValue(1)}}, out[0].Values)
}

// TestRefusals has values that cannot be added up in parts, and statistics that do not suffice.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		fn    shard.AggFunc
		cells cache.Cells
		err   error
	}{
		"sum of texts":    {shard.AggSum, values(graph.StringValue("a")), shard.ErrRows},
		"sum too large":   {shard.AggSum, cache.Cells{Wide: []uint64{math.MaxInt64, 1}, Most: math.MaxInt64}, shard.ErrRows},
		"two kinds":       {shard.AggMax, values(graph.IntValue(1), graph.FloatValue(2)), shard.ErrRows},
		"zeros":           {shard.AggMin, values(graph.FloatValue(0)), shard.ErrOrder},
		"no order":        {shard.AggMin, values(graph.BoolValue(true), graph.BoolValue(true)), shard.ErrRows},
		"count of all":    {shard.AggCount, values(graph.BoolValue(true), graph.IntValue(1)), nil},
		"texts and nulls": {shard.AggMax, values(graph.Value{}, graph.StringValue("a")), nil},
	} {
		g := New(&shard.Aggregate{Props: []graph.PropID{1}, Aggs: []shard.PartialAgg{{Func: c.fn}}}, false)
		n := max(len(c.cells.Vals), len(c.cells.Wide))
		require.ErrorIs(t, g.Rows(0, all(n), []cache.Cells{c.cells}), c.err, name)
	}
	g := New(&shard.Aggregate{Props: []graph.PropID{1}, Aggs: []shard.PartialAgg{{Func: shard.AggSum}, {Func: shard.AggMin}}}, false)
	done, err := g.Summarize(2, []cache.Summary{{Count: 2}})
	require.NoError(t, err)
	require.False(t, done)
	done, err = g.Summarize(3, []cache.Summary{{Count: 2, Ordered: true, Min: graph.IntValue(-1), Max: graph.IntValue(5), Summed: true, Sum: 4}})
	require.NoError(t, err)
	require.True(t, done)
	out, err := g.Groups()
	require.NoError(t, err)
	require.Equal(t, []int64{3}, out[0].Rows)
	require.Equal(t, [][]graph.Value{{graph.IntValue(4)}, {graph.IntValue(-1)}}, out[0].Values)
}
