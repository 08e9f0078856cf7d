package fn

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/graph/temporal"
)

// Adding a value n times at once is adding it n times.
func TestAddN(t *testing.T) {
	day := temporal.Duration{Months: 1, Days: 2, Seconds: 86_399, Nanos: 999_999_999}
	for _, values := range [][]graph.Value{
		{graph.IntValue(7), graph.IntValue(-3), {}},
		{graph.IntValue(math.MaxInt64), graph.IntValue(math.MinInt64), graph.IntValue(math.MinInt64)},
		{graph.FloatValue(0.1), graph.IntValue(3), graph.FloatValue(-1e15)},
		{graph.FloatValue(math.Inf(1)), graph.FloatValue(2)},
		{graph.FloatValue(math.NaN()), graph.FloatValue(2)},
		{graph.DurationValue(day), {}, graph.DurationValue(day)},
		{graph.StringValue("x")},
		{graph.DurationValue(day), graph.IntValue(1)},
	} {
		for _, n := range []int64{1, 2, 3, 10, 1000} {
			for _, name := range []string{"sum", "avg"} {
				agg, _ := LookupAggregate(name)
				once, each := agg.New(), agg.New()
				var err1, err2 error
				for _, v := range values {
					if err1 == nil {
						err1 = once.(Repeater).AddN(v, n)
					}
					for range n {
						if err2 == nil {
							err2 = each.Add([]graph.Value{v})
						}
					}
				}
				require.Equal(t, err2, err1)
				if err1 != nil {
					continue
				}
				want, err2 := each.Result()
				got, err1 := once.Result()
				require.Equal(t, err2, err1)
				if want.Kind() == graph.Float && !math.IsNaN(want.Float()) && !math.IsInf(want.Float(), 0) {
					require.InEpsilon(t, want.Float(), got.Float(), 1e-15)
					continue
				}
				require.Equal(t, notation.Describe(want), notation.Describe(got), "%s of %v, %d times", name, values, n)
			}
		}
	}
}
