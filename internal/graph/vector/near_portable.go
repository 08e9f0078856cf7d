package vector

import "unsafe"

// nearLanes is how many sums the portable kernels add up side by side.
const nearLanes = 4

func dotsPortable(q []float32, x *Four, out *[4]float32) {
	for k, first := range x {
		v := unsafe.Slice(first, len(q))
		var s [nearLanes]float32
		for i := 0; i+nearLanes <= len(q); i += nearLanes {
			a, b := v[i:i+nearLanes:i+nearLanes], q[i:i+nearLanes:i+nearLanes]
			s[0] += a[0] * b[0]
			s[1] += a[1] * b[1]
			s[2] += a[2] * b[2]
			s[3] += a[3] * b[3]
		}
		out[k] = (s[0] + s[2]) + (s[1] + s[3])
	}
}

func squareDistancesPortable(q []float32, x *Four, out *[4]float32) {
	for k, first := range x {
		v := unsafe.Slice(first, len(q))
		var s [nearLanes]float32
		for i := 0; i+nearLanes <= len(q); i += nearLanes {
			a, b := v[i:i+nearLanes:i+nearLanes], q[i:i+nearLanes:i+nearLanes]
			d0, d1, d2, d3 := a[0]-b[0], a[1]-b[1], a[2]-b[2], a[3]-b[3]
			s[0] += d0 * d0
			s[1] += d1 * d1
			s[2] += d2 * d2
			s[3] += d3 * d3
		}
		out[k] = (s[0] + s[2]) + (s[1] + s[3])
	}
}
