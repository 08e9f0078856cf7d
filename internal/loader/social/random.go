package social

import "math"

// random is splitmix64. A generator seeded with a person's number determines everything about that person, so workers need no coordination.
type random uint64

// stream returns the generator of the i-th object of a kind.
func stream(seed, kind, i uint64) random {
	r := random(seed ^ kind*0x9e3779b97f4a7c15)
	r = random(r.next() ^ i*0xd1342543de82ef95)
	r.next()
	return r
}

func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a number in [0, n); n is below 2^32.
func (r *random) below(n int) int { return int(r.next() >> 32 * uint64(n) >> 32) }

// unit returns a number in [0, 1).
func (r *random) unit() float64 { return float64(r.next()>>11) / (1 << 53) }

// skewed returns a number in [0, n) that favours small ones; a larger power skews more.
func (r *random) skewed(n int, power float64) int {
	return min(n-1, int(float64(n)*math.Pow(r.unit(), power)))
}
