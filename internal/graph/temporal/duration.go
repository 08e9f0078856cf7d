package temporal

import (
	"math/big"
	"time"
)

// DurationOf returns a time.Duration as seconds and nanoseconds.
func DurationOf(d time.Duration) Duration {
	return Duration{Seconds: int64(d / time.Second), Nanos: int32(d % time.Second)}
}

// makeDuration returns a duration whose seconds and nanoseconds may have any sign.
func makeDuration(months, days, seconds, nanos int64) (Duration, error) {
	seconds, ok := addInt(seconds, floorDiv(nanos, nanosPerSecond))
	if !ok {
		return Duration{}, errDurationRange
	}
	return Duration{Months: months, Days: days, Seconds: seconds, Nanos: int32(floorMod(nanos, nanosPerSecond))}, nil
}

// Add adds group by group.
func (d Duration) Add(o Duration) (Duration, error) {
	months, ok1 := addInt(d.Months, o.Months)
	days, ok2 := addInt(d.Days, o.Days)
	seconds, ok3 := addInt(d.Seconds, o.Seconds)
	if !ok1 || !ok2 || !ok3 {
		return Duration{}, errDurationRange
	}
	return makeDuration(months, days, seconds, int64(d.Nanos)+int64(o.Nanos))
}

// Negate reverses the sign.
func (d Duration) Negate() (Duration, error) {
	months, ok1 := mulInt(d.Months, -1)
	days, ok2 := mulInt(d.Days, -1)
	seconds, ok3 := mulInt(d.Seconds, -1)
	if !ok1 || !ok2 || !ok3 {
		return Duration{}, errDurationRange
	}
	return makeDuration(months, days, seconds, -int64(d.Nanos))
}

// MulInt multiplies each group.
func (d Duration) MulInt(n int64) (Duration, error) {
	months, ok1 := mulInt(d.Months, n)
	days, ok2 := mulInt(d.Days, n)
	seconds, ok3 := mulInt(d.Seconds, n)
	nanos, ok4 := mulInt(int64(d.Nanos), n)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return d.scale(new(big.Rat).SetInt64(n)) // the sum may fit even if a part does not
	}
	return makeDuration(months, days, seconds, nanos)
}

// Mul multiplies each group. A fraction of a month carries over to days, a fraction of a day to seconds. The factor counts as the
// shortest decimal number that denotes it.
func (d Duration) Mul(f float64) (Duration, error) {
	r, err := ratOf(f)
	if err != nil {
		return Duration{}, err
	}
	return d.scale(r)
}

// Div divides each group as Mul does. Division by zero is an error.
func (d Duration) Div(f float64) (Duration, error) {
	r, err := ratOf(f)
	if err != nil {
		return Duration{}, err
	}
	if r.Sign() == 0 {
		return Duration{}, outOfRange("a duration cannot be divided by zero")
	}
	return d.scale(r.Inv(r))
}

func (d Duration) scale(r *big.Rat) (Duration, error) {
	var s spans
	s.add(spanMonths, new(big.Rat).SetInt64(d.Months))
	s.add(spanDays, new(big.Rat).SetInt64(d.Days))
	s.add(spanSeconds, new(big.Rat).SetInt64(d.Seconds))
	s.add(spanNanos, new(big.Rat).SetInt64(int64(d.Nanos)))
	for i := range s {
		if s[i] != nil {
			s[i].Mul(s[i], r)
		}
	}
	return s.duration()
}

// The groups of spans.
const (
	spanMonths = iota
	spanDays
	spanSeconds
	spanNanos
	numSpans
)

// spans holds exact amounts of each group while a duration is made of fractions; nil is zero.
type spans [numSpans]*big.Rat

func (s *spans) add(group int, r *big.Rat) {
	if s[group] == nil {
		s[group] = new(big.Rat)
	}
	s[group].Add(s[group], r)
}

// duration hands fractions down: of a month to days and seconds, of a day to seconds, and cuts at the nanosecond.
func (s *spans) duration() (Duration, error) {
	for i := range s {
		if s[i] == nil {
			s[i] = new(big.Rat)
		}
	}
	months, rest := truncate(s[spanMonths])
	s[spanDays].Add(s[spanDays], rest.Mul(rest, big.NewRat(secondsPerMonth, secondsPerDay)))
	days, rest := truncate(s[spanDays])
	nanos := s[spanSeconds]
	nanos.Add(nanos, rest.Mul(rest, big.NewRat(secondsPerDay, 1)))
	nanos.Mul(nanos, big.NewRat(nanosPerSecond, 1))
	nanos.Add(nanos, s[spanNanos])
	whole, _ := truncate(nanos)
	seconds, sub := new(big.Int).DivMod(whole, big.NewInt(nanosPerSecond), new(big.Int))
	if !months.IsInt64() || !days.IsInt64() || !seconds.IsInt64() {
		return Duration{}, errDurationRange
	}
	return Duration{Months: months.Int64(), Days: days.Int64(), Seconds: seconds.Int64(), Nanos: int32(sub.Int64())}, nil
}

// truncate splits a number into its whole part and the rest, which have its sign.
func truncate(r *big.Rat) (*big.Int, *big.Rat) {
	whole := new(big.Int).Quo(r.Num(), r.Denom())
	return whole, new(big.Rat).Sub(r, new(big.Rat).SetInt(whole))
}
