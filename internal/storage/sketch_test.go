package storage

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
				a.add(k)
			} else {
				b.add(k)
			}
			a.add(slices.Clip(k))
		}
		a.Merge(&b)
		require.InDelta(t, n, a.Estimate(), math.Max(1, 0.1*float64(n)), "%d", n)
	}
}
