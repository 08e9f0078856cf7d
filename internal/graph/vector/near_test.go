package vector

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNear compares the kernels that rank with the definitions, for strides of one pass on, and each of the four vectors.
func TestNear(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for n := lanes; n <= 20*lanes; n += lanes {
		q := make([]float32, n)
		var four Four
		var dot, square [4]float64
		others := make([][]float32, 4)
		for i := range q {
			q[i] = float32(rng.NormFloat64())
		}
		for k := range others {
			others[k] = make([]float32, n)
			four[k] = &others[k][0]
			for i := range q {
				others[k][i] = float32(rng.NormFloat64())
				x, y := float64(q[i]), float64(others[k][i])
				dot[k] += x * y
				square[k] += (x - y) * (x - y)
			}
		}
		var out [4]float32
		Dots(q, &four, &out)
		for k, got := range out {
			require.InDelta(t, dot[k], got, 1e-4*math.Sqrt(float64(n)), "dot %d of %d", k, n)
		}
		SquareDistances(q, &four, &out)
		for k, got := range out {
			require.InEpsilon(t, square[k], got, 1e-5, "distance %d of %d", k, n)
		}
	}
}

// BenchmarkNear compares a vector with four others that lie in the first cache.
func BenchmarkNear(b *testing.B) {
	rng := rand.New(rand.NewPCG(9, 10))
	const n = 384
	x, _ := packedPair(rng, n)
	y, _ := packedPair(rng, n)
	four, out := Four{&x[0], &x[0], &x[0], &x[0]}, [4]float32{}
	b.SetBytes(4 * 4 * n)
	for b.Loop() {
		Dots(y, &four, &out)
	}
}
