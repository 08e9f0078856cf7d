package temporal

import "math/big"

// DurationBuilder adds up amounts of named units, with fractions, exactly. The zero DurationBuilder is empty.
type DurationBuilder struct{ sum spans }

// durationFields are the units of a duration's map: the group they count in, and how many of its unit one of them is.
var durationFields = map[string]struct {
	group  int
	factor int64
}{
	"years": {spanMonths, 12}, "quarters": {spanMonths, 3}, "months": {spanMonths, 1},
	"weeks": {spanDays, 7}, "days": {spanDays, 1},
	"hours": {spanSeconds, 3600}, "minutes": {spanSeconds, 60}, "seconds": {spanSeconds, 1},
	"milliseconds": {spanNanos, 1_000_000}, "microseconds": {spanNanos, 1_000}, "nanoseconds": {spanNanos, 1},
}

// AddInt adds n of a unit.
func (b *DurationBuilder) AddInt(unit string, n int64) error {
	return b.add(unit, new(big.Rat).SetInt64(n))
}

// AddFloat adds n of a unit, n standing for the shortest decimal number that denotes it.
func (b *DurationBuilder) AddFloat(unit string, n float64) error {
	r, err := ratOf(n)
	if err != nil {
		return err
	}
	return b.add(unit, r)
}

func (b *DurationBuilder) add(unit string, n *big.Rat) error {
	f, ok := durationFields[unit]
	if !ok {
		return invalid("a duration has no field %q", unit)
	}
	b.sum.add(f.group, n.Mul(n, new(big.Rat).SetInt64(f.factor)))
	return nil
}

// Duration returns the sum. The builder must not be used after it.
func (b *DurationBuilder) Duration() (Duration, error) { return b.sum.duration() }
