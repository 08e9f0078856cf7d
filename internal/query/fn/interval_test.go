package fn

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
)

// An interval holds the values that comparisons with its bounds hold for, and so do the numbers inside them.
func TestIntervalsAreComparisons(t *testing.T) {
	values := []graph.Value{
		{},
		graph.BoolValue(true), graph.StringValue("5"), graph.ListValue([]graph.Value{graph.IntValue(5)}),
		graph.DateValue(temporal.Date(5)), graph.DateValue(temporal.Date(-6)), graph.LocalTimeValue(temporal.LocalTime(5)),
	}
	for _, i := range []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, 4, 5, 1<<53 + 1, math.MaxInt64 - 1, math.MaxInt64} {
		values = append(values, graph.IntValue(i))
	}
	for _, f := range []float64{math.Inf(-1), -1 << 63, -0.5, math.Copysign(0, -1), 0, 4.5, 5, 1 << 53, 1 << 63, math.Inf(1), math.NaN()} {
		values = append(values, graph.FloatValue(f))
	}
	check := func(in graph.Interval) {
		for _, v := range values {
			want := true
			if !in.Lo.IsNull() {
				want = GreaterEqual(v, in.Lo) == True && (!in.LoOpen || Greater(v, in.Lo) == True)
			}
			if !in.Hi.IsNull() {
				want = want && LessEqual(v, in.Hi) == True && (!in.HiOpen || Less(v, in.Hi) == True)
			}
			require.Equal(t, want, in.Holds(v), "%v in %v", v, in)
			if lo, hi, ok := in.Whole(v.Kind()); ok {
				switch v.Kind() {
				case graph.Int:
					require.Equal(t, want, lo <= v.Int() && v.Int() <= hi, "%v in %v", v, in)
				case graph.Date:
					require.Equal(t, want, lo <= int64(v.Date()) && int64(v.Date()) <= hi, "%v in %v", v, in)
				case graph.LocalTime:
					require.Equal(t, want, lo <= int64(v.LocalTime()) && int64(v.LocalTime()) <= hi, "%v in %v", v, in)
				}
			}
		}
	}
	for _, lo := range values {
		for _, hi := range values {
			if !lo.IsNull() && !graph.Bounds(lo) || !hi.IsNull() && !graph.Bounds(hi) || lo.IsNull() && hi.IsNull() {
				continue
			}
			for open := range 4 {
				check(graph.Interval{Lo: lo, Hi: hi, LoOpen: open&1 != 0, HiOpen: open&2 != 0})
			}
		}
	}
}
