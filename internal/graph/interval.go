package graph

import (
	"cmp"
	"math"
)

// Interval is a range of numbers, dates or local times. It contains a value if openCypher's comparisons with the bounds are true; so values
// of other kinds are outside.
type Interval struct {
	Lo, Hi         Value // of kinds for which Bounds holds; a null bound is open, but at most one may be null
	LoOpen, HiOpen bool  // excludes the bound itself
}

// Bounds reports whether a value can be a bound of an Interval.
func Bounds(v Value) bool {
	switch v.kind {
	case Int, Date, LocalTime:
		return true
	case Float:
		return !math.IsNaN(v.Float())
	}
	return false
}

// Holds reports whether the interval contains a value.
func (iv *Interval) Holds(v Value) bool {
	if !iv.Lo.IsNull() {
		if c, ok := compareBound(v, iv.Lo); !ok || c < 0 || c == 0 && iv.LoOpen {
			return false
		}
	}
	if !iv.Hi.IsNull() {
		if c, ok := compareBound(v, iv.Hi); !ok || c > 0 || c == 0 && iv.HiOpen {
			return false
		}
	}
	return true
}

// compareBound compares a value with a bound; ok is false if they are not comparable.
func compareBound(v, bound Value) (c int, ok bool) {
	switch {
	case v.kind == bound.kind && v.kind == Float:
		return cmp.Compare(v.Float(), bound.Float()), !math.IsNaN(v.Float())
	case v.kind == bound.kind:
		return cmp.Compare(int64(v.num), int64(bound.num)), true
	case v.kind == Int && bound.kind == Float:
		return CompareIntFloat(v.Int(), bound.Float()), true
	case v.kind == Float && bound.kind == Int:
		return -CompareIntFloat(bound.Int(), v.Float()), !math.IsNaN(v.Float())
	}
	return 0, false
}

// Whole returns the least and the greatest integer that represent values of a kind (Int, Date or LocalTime) in the interval; lo exceeds hi
// if there are none. ok is false if a bound is a Float and the kind is Int.
func (iv *Interval) Whole(kind ValueKind) (lo, hi int64, ok bool) {
	lo, hi = math.MinInt64, math.MaxInt64
	for _, b := range [...]Value{iv.Lo, iv.Hi} {
		switch {
		case b.kind == Null || b.kind == kind:
		case kind == Int && b.kind == Float:
			return 0, 0, false
		default:
			return 1, 0, true
		}
	}
	if !iv.Lo.IsNull() {
		if lo = int64(iv.Lo.num); iv.LoOpen {
			if lo == math.MaxInt64 {
				return 1, 0, true
			}
			lo++
		}
	}
	if !iv.Hi.IsNull() {
		if hi = int64(iv.Hi.num); iv.HiOpen {
			if hi == math.MinInt64 {
				return 1, 0, true
			}
			hi--
		}
	}
	return lo, hi, true
}

// CompareIntFloat compares an integer with a float exactly. NaN follows all integers.
func CompareIntFloat(i int64, f float64) int {
	switch {
	case f != f || f >= 1<<63:
		return -1
	case f < -1<<63:
		return 1
	}
	whole := int64(f)
	if c := cmp.Compare(i, whole); c != 0 {
		return c
	}
	return cmp.Compare(float64(whole), f)
}
