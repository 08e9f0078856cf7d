package vector_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/alloctest"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
)

// randomVector makes a vector of integers and floats.
func randomVector(rng *rand.Rand, n int) []graph.Value {
	list := make([]graph.Value, n)
	for i := range list {
		if list[i] = graph.FloatValue(rng.NormFloat64()); rng.IntN(8) == 0 {
			list[i] = graph.IntValue(int64(rng.IntN(7) - 3))
		}
	}
	return list
}

// naiveScore computes a score straight from its definition.
func naiveScore(by graph.Similarity, a, b []graph.Value) float64 {
	var dot, aa, bb, square float64
	for i := range a {
		x, y := float64(float32(a[i].Number())), float64(float32(b[i].Number()))
		dot, aa, bb, square = dot+x*y, aa+x*x, bb+y*y, square+(x-y)*(x-y)
	}
	if by == graph.Euclidean {
		return 1 / (1 + square)
	}
	return (1 + dot/math.Sqrt(aa*bb)) / 2
}

// TestScore compares scores of vectors of all lengths, odd and even, with the definition.
func TestScore(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, by := range []graph.Similarity{graph.Cosine, graph.Euclidean} {
		var p vector.Probe
		for n := 1; n < 70; n++ {
			a, b := randomVector(rng, n), randomVector(rng, n)
			a[0], b[0] = graph.FloatValue(1), graph.FloatValue(-2)
			require.True(t, p.Set(by, graph.ListValue(a)))
			require.Equal(t, n, p.Dimensions())
			got, ok := p.Score(graph.ListValue(b))
			require.True(t, ok)
			require.InDelta(t, naiveScore(by, a, b), got, 1e-7, "%s of %d dimensions", by, n)
			require.Equal(t, float64(float32(got)), got)
			for _, t64 := range []graph.CoordinateType{graph.Float32, graph.Float64} {
				va, errA := graph.VectorOf(t64, a)
				vb, errB := graph.VectorOf(t64, b)
				require.NoError(t, errors.Join(errA, errB))
				var q vector.Probe
				require.True(t, q.Set(by, graph.VectorValue(va)))
				of, ok := q.Score(graph.VectorValue(vb))
				require.True(t, ok)
				require.Equal(t, got, of, "vectors score as lists do")
			}
			b[rng.IntN(n)] = graph.StringValue("x")
			_, ok = p.Score(graph.ListValue(b))
			require.False(t, ok)
		}
	}
}

// TestScoreAllocates holds that comparing allocates nothing.
func TestScoreAllocates(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	a, b := randomVector(rng, 384), randomVector(rng, 384)
	var p vector.Probe
	for _, by := range []graph.Similarity{graph.Cosine, graph.Euclidean} {
		require.True(t, p.Set(by, graph.ListValue(a)))
		require.Zero(t, alloctest.Least(100, func() {
			p.Set(by, graph.ListValue(a))
			p.Score(graph.ListValue(b))
		}))
	}
}
