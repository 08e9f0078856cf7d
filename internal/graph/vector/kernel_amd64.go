package vector

import "golang.org/x/sys/cpu"

// level is what the processor has instructions for.
type level uint8

const (
	portable level = iota
	avx2
	avx512
)

var best = detect()

func detect() level {
	switch {
	case cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX2:
		return avx512
	case cpu.X86.HasAVX2 && cpu.X86.HasFMA:
		return avx2
	}
	return portable
}

// Kernel returns the name of the kernels in use.
func Kernel() string { return [...]string{"portable", "avx2", "avx512"}[best] }

func dot(x []float32, q []float64) float64 {
	if len(x) == 0 || len(x)%lanes != 0 || len(q) < len(x) {
		return dotPortable(x, q)
	}
	switch best {
	case avx512:
		return dotAVX512(&x[0], &q[0], len(x))
	case avx2:
		return dotAVX2(&x[0], &q[0], len(x))
	}
	return dotPortable(x, q)
}

func squareDistance(x []float32, q []float64) float64 {
	if len(x) == 0 || len(x)%lanes != 0 || len(q) < len(x) {
		return squareDistancePortable(x, q)
	}
	switch best {
	case avx512:
		return squareDistanceAVX512(&x[0], &q[0], len(x))
	case avx2:
		return squareDistanceAVX2(&x[0], &q[0], len(x))
	}
	return squareDistancePortable(x, q)
}

// The functions in assembly take n coordinates, a positive multiple of lanes.

//go:noescape
func dotAVX2(x *float32, q *float64, n int) float64

//go:noescape
func dotAVX512(x *float32, q *float64, n int) float64

//go:noescape
func squareDistanceAVX2(x *float32, q *float64, n int) float64

//go:noescape
func squareDistanceAVX512(x *float32, q *float64, n int) float64
