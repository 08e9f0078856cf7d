package temporal

import (
	"cmp"
	"math/bits"
)

// wide is a signed integer of 128 bits, for sums of units that may pass 64 bits.
type wide struct {
	hi int64
	lo uint64
}

func (a wide) add(b wide) wide {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	return wide{a.hi + b.hi + int64(carry), lo}
}

// mulWide multiplies n by a unit, which must not be negative.
func mulWide(n, unit int64) wide {
	u := uint64(n)
	if n < 0 {
		u = -u
	}
	hi, lo := bits.Mul64(u, uint64(unit))
	if n < 0 {
		lo = -lo
		hi = ^hi
		if lo == 0 {
			hi++
		}
	}
	return wide{int64(hi), lo}
}

func cmpWide(a, b wide) int {
	if c := cmp.Compare(a.hi, b.hi); c != 0 {
		return c
	}
	return cmp.Compare(a.lo, b.lo)
}

// averageNanos is the duration's average length in nanoseconds; it wraps past 127 bits, which no int64 fields reach
// with one month of 2.6e15 ns.
func (d Duration) averageNanos() wide {
	n := mulWide(d.Months, secondsPerMonth*nanosPerSecond)
	n = n.add(mulWide(d.Days, nanosPerDay))
	n = n.add(mulWide(d.Seconds, nanosPerSecond))
	return n.add(mulWide(int64(d.Nanos), 1))
}
