package vector

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// packedPair makes two packed vectors with coordinates of very different sizes.
func packedPair(rng *rand.Rand, dimensions int) (x []float32, q []float64) {
	x, q = make([]float32, Stride(dimensions)), make([]float64, Stride(dimensions))
	for i := range dimensions {
		x[i] = float32(math.Ldexp(rng.NormFloat64(), rng.IntN(80)-40))
		q[i] = float64(float32(math.Ldexp(rng.NormFloat64(), rng.IntN(80)-40)))
	}
	return x, q
}

// TestKernelsAgree holds that the kernels of the processor give what the portable ones give, to the last bit.
func TestKernelsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for n := 1; n < 300; n++ {
		x, q := packedPair(rng, n)
		require.Equal(t, math.Float64bits(dotPortable(x, q)), math.Float64bits(dot(x, q)), "dot of %d", n)
		require.Equal(t, math.Float64bits(squareDistancePortable(x, q)), math.Float64bits(squareDistance(x, q)), "distance of %d", n)
		self := make([]float64, len(x))
		for i := range x {
			self[i] = float64(x[i])
		}
		require.Equal(t, math.Float64bits(square(x)), math.Float64bits(dot(x, self)), "length of %d", n)
	}
}

func FuzzKernelsAgree(f *testing.F) {
	f.Add([]byte{0, 0, 128, 63, 0, 0, 128, 127, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		n := len(b) / 8
		if n == 0 {
			return
		}
		x, q := make([]float32, Stride(n)), make([]float64, Stride(n))
		for i := range n {
			x[i] = math.Float32frombits(uint32(b[8*i]) | uint32(b[8*i+1])<<8 | uint32(b[8*i+2])<<16 | uint32(b[8*i+3])<<24)
			q[i] = float64(math.Float32frombits(uint32(b[8*i+4]) | uint32(b[8*i+5])<<8 | uint32(b[8*i+6])<<16 | uint32(b[8*i+7])<<24))
		}
		for _, pair := range [][2]float64{{dotPortable(x, q), dot(x, q)}, {squareDistancePortable(x, q), squareDistance(x, q)}} {
			if math.IsNaN(pair[0]) && math.IsNaN(pair[1]) {
				continue
			}
			if pair[0] != pair[1] {
				t.Fatalf("portable %v, of the processor %v", pair[0], pair[1])
			}
		}
	})
}

// BenchmarkKernels compares vectors that lie in the first cache.
func BenchmarkKernels(b *testing.B) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{384, 1536} {
		x, q := packedPair(rng, n)
		for name, f := range map[string]func([]float32, []float64) float64{
			"dot": dot, "distance": squareDistance, "portableDot": dotPortable, "portableDistance": squareDistancePortable,
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.SetBytes(int64(4 * n))
				for b.Loop() {
					f(x, q)
				}
			})
		}
	}
}
