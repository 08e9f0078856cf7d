package graph

// Summary describes the values of one property of some vertices or edges.
type Summary struct {
	Count int // of the values; null is none
	// Ordered reports whether Min and Max are the least and the greatest value: all are of one kind for which Bounds holds.
	Ordered  bool
	Min, Max Value // null without values
	// Summed reports whether Sum is the exact sum: all values are Ints.
	Summed bool
	Sum    int64
}

// Misses reports whether an interval contains none of the values. False may also mean that the summary cannot decide.
func (s *Summary) Misses(iv *Interval) bool {
	if s.Count == 0 {
		return true
	}
	above, below := Interval{Lo: iv.Lo, LoOpen: iv.LoOpen}, Interval{Hi: iv.Hi, HiOpen: iv.HiOpen}
	return s.Ordered && (!above.Holds(s.Max) || !below.Holds(s.Min))
}

// Within reports whether an interval contains all of the values. False may also mean that the summary cannot decide.
func (s *Summary) Within(iv *Interval) bool {
	return s.Count == 0 || s.Ordered && iv.Holds(s.Min) && iv.Holds(s.Max)
}
