package stats

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

func TestSketch(t *testing.T) {
	for _, n := range []int{0, 1, 10, 1000, 50_000} {
		var a, b Sketch
		for i := range n {
			k, _ := keys.AppendOrdered(nil, graph.IntValue(int64(i)))
			if i%2 == 0 {
				a.Add(k)
			} else {
				b.Add(k)
			}
			a.Add(slices.Clip(k))
		}
		a.Merge(&b)
		require.InDelta(t, n, a.Estimate(), math.Max(1, 0.1*float64(n)), "%d", n)
	}
}
