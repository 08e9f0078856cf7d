package bulk

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// Short lists, which are compared, and long ones, which are hashed, are joined, cut and thinned out alike.
func TestDistinct(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	list := func(n int) []graph.Value {
		out := make([]graph.Value, n)
		for i := range out {
			switch k := int64(rng.IntN(12)); k % 3 {
			case 0:
				out[i] = graph.FloatValue(float64(k))
			case 1:
				out[i] = graph.StringValue(string(rune('a' + k)))
			default:
				out[i] = graph.IntValue(k - 2) // a number may be an integer here, a float there
			}
		}
		return out
	}
	for range 2000 {
		a, b := list(rng.IntN(12)), list(rng.IntN(12))
		for _, in := range []bool{false, true} {
			// Values that are nowhere else make the lists long and change nothing.
			var more []graph.Value
			for i := range fewValues + 1 {
				more = append(more, graph.IntValue(int64(1000+i)))
			}
			require.Equal(t, distinct(a, append(more, b...), in), distinctFew(a, b, in))
		}
	}
}
