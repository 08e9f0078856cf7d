package vector

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// checkDotCodes compares the kernel in use with the portable one. The vectors are rows of one array, as a graph has them.
func checkDotCodes(t *testing.T, rows []int8, n int) {
	var want, got [4]int32
	four := FourCodes{&rows[n], &rows[2*n], &rows[3*n], &rows[4*n]}
	dotCodesPortable(rows[:n], &four, &want)
	DotCodes(rows[:n], &four, &got)
	require.Equal(t, want, got, "%d codes", n)
}

// TestDotCodes compares the kernels for strides of one pass on, with random codes and with the greatest of the longest vectors.
func TestDotCodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for n := lanes; n <= 20*lanes; n += lanes {
		rows := make([]int8, 5*n)
		for i := range rows {
			rows[i] = int8(rng.IntN(2*mostCode+1) - mostCode)
		}
		checkDotCodes(t, rows, n)
	}
	const n = 1 << 16
	rows := make([]int8, 5*n)
	for i := range rows {
		rows[i] = mostCode
		if i >= 3*n {
			rows[i] = -mostCode
		}
	}
	checkDotCodes(t, rows, n)
	var out [4]int32
	DotCodes(rows[:n], &FourCodes{&rows[n], &rows[n], &rows[3*n], &rows[3*n]}, &out)
	require.Equal(t, [4]int32{n * mostCode * mostCode, n * mostCode * mostCode, -n * mostCode * mostCode, -n * mostCode * mostCode}, out)
}

// FuzzDotCodes compares the kernels for any codes.
func FuzzDotCodes(f *testing.F) {
	f.Add([]byte{1, 255, 127, 129}, uint8(0))
	f.Fuzz(func(t *testing.T, codes []byte, passes uint8) {
		n := lanes * (1 + int(passes%40))
		rows := make([]int8, 5*n)
		for i := range rows {
			if len(codes) > 0 {
				rows[i] = max(int8(codes[i%len(codes)]), -mostCode)
			}
		}
		checkDotCodes(t, rows, n)
	})
}

// TestQuantize rounds each coordinate by at most half of a scale, of which the greatest coordinate has 127.
func TestQuantize(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, length := range []float64{1, 1e-37, 1e37} {
		x := make([]float32, 3*lanes)
		most := float32(0)
		for i := range 80 {
			x[i] = float32(length * (2*rng.Float64() - 1))
			most = max(most, float32(math.Abs(float64(x[i]))))
		}
		codes, scale, squares := Quantize([]int8{5}, x)
		require.Equal(t, int8(5), codes[0], "what was there")
		require.Len(t, codes, 1+len(x))
		require.InEpsilon(t, most, mostCode*scale, 1e-4)
		sum := int32(0)
		for i, c := range codes[1:] {
			require.InDelta(t, x[i], float64(c)*float64(scale), 0.501*float64(scale))
			sum += int32(c) * int32(c)
		}
		require.Equal(t, sum, squares)
		require.GreaterOrEqual(t, squares, int32(mostCode*mostCode))
	}
	codes, scale, squares := Quantize(nil, make([]float32, lanes))
	require.Equal(t, make([]int8, lanes), codes)
	require.Zero(t, scale)
	require.Zero(t, squares)
}

// BenchmarkDotCodes compares a vector with four others that lie in the first cache.
func BenchmarkDotCodes(b *testing.B) {
	const n = 384
	rows := make([]int8, 2*n)
	four, out := FourCodes{&rows[n], &rows[n], &rows[n], &rows[n]}, [4]int32{}
	b.SetBytes(4 * n)
	for b.Loop() {
		DotCodes(rows[:n], &four, &out)
	}
}
