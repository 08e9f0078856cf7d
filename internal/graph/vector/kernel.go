package vector

// A kernel takes packed vectors, x of 32-bit floats and q of 64-bit ones that are exact as 32-bit floats, adds in 64 bits, coordinate i to
// sum i modulo lanes, and then adds the sums up as total does. A product of two 32-bit floats is exact in 64 bits, so a fused
// multiplication makes no difference to dot. squareDistance must not fuse.

func dotPortable(x []float32, q []float64) float64 {
	var s [lanes]float64
	for len(x) >= lanes && len(q) >= lanes {
		for j := range lanes {
			s[j] += float64(x[j]) * q[j]
		}
		x, q = x[lanes:], q[lanes:]
	}
	return total(&s)
}

func squareDistancePortable(x []float32, q []float64) float64 {
	var s [lanes]float64
	for len(x) >= lanes && len(q) >= lanes {
		for j := range lanes {
			d := float64(x[j]) - q[j]
			s[j] += float64(d * d)
		}
		x, q = x[lanes:], q[lanes:]
	}
	return total(&s)
}

// square returns the square of a vector's length.
func square(x []float32) float64 {
	var s [lanes]float64
	for len(x) >= lanes {
		for j := range lanes {
			c := float64(x[j])
			s[j] += c * c
		}
		x = x[lanes:]
	}
	return total(&s)
}

// total adds sums up as registers of eight do, then of four, then of two.
func total(s *[lanes]float64) float64 {
	var t [8]float64
	for j := range t {
		t[j] = (s[j] + s[j+8]) + (s[j+16] + s[j+24])
	}
	for j := range 4 {
		t[j] += t[j+4]
	}
	return (t[0] + t[2]) + (t[1] + t[3])
}
