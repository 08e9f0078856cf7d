package temporal

import (
	"math/big"
	"strings"
)

// ParseDuration reads P1Y2M3W4DT5H6M7.8S, where each number may have a sign and a fraction, or the date-and-time form
// P2012-02-02T14:37:21.545. A sign before the P negates the whole.
func ParseDuration(text string) (Duration, error) {
	s := scanner{text}
	bad := badText("a duration", text)
	sign := s.sign()
	if !s.skip('P') || s.done() {
		return Duration{}, bad
	}
	d, err := parseDateTimeDuration(s.rest)
	if err != nil {
		var ok bool
		if d, ok = wholeDuration(s.rest); !ok {
			if d, err = s.unitDuration(bad); err != nil {
				return Duration{}, err
			}
		}
	}
	if sign < 0 {
		return d.Negate()
	}
	return d, nil
}

// durationUnits are the designators in order, with the size of each in the group's unit.
var durationUnits = [...]struct {
	letter byte
	clock  bool
	group  int
	factor int64
}{
	{'Y', false, spanMonths, 12},
	{'M', false, spanMonths, 1},
	{'W', false, spanDays, 7},
	{'D', false, spanDays, 1},
	{'H', true, spanSeconds, 3600},
	{'M', true, spanSeconds, 60},
	{'S', true, spanSeconds, 1},
}

// wholeDuration reads what needs no fractions but of the second, in at most 18 digits a number. It is not ok for all
// else, right or wrong, which unitDuration reads.
func wholeDuration(text string) (Duration, bool) {
	s := scanner{text}
	var sums [numSpans]int64
	next, clock, some := 0, false, false
	for !s.done() {
		if !clock && s.skip('T') {
			clock, some = true, false
			continue
		}
		sign := s.sign()
		width := s.digits()
		if width == 0 || width > 18 {
			return Duration{}, false
		}
		n, _ := s.number(width)
		nanos, ok := s.fraction()
		if !ok {
			return Duration{}, false
		}
		for next < len(durationUnits) && (durationUnits[next].clock != clock || !s.skip(durationUnits[next].letter)) {
			next++
		}
		if next == len(durationUnits) || nanos != 0 && durationUnits[next].letter != 'S' {
			return Duration{}, false
		}
		if sign < 0 {
			n, nanos = -n, -nanos
		}
		u := durationUnits[next]
		if n, ok = mulInt(n, u.factor); !ok {
			return Duration{}, false
		}
		if sums[u.group], ok = addInt(sums[u.group], n); !ok {
			return Duration{}, false
		}
		sums[spanNanos] += nanos
		next, some = next+1, true
	}
	if !some {
		return Duration{}, false
	}
	d, err := makeDuration(sums[spanMonths], sums[spanDays], sums[spanSeconds], sums[spanNanos])
	return d, err == nil
}

func (s *scanner) unitDuration(bad textError) (Duration, error) {
	var sum spans
	next, clock, some := 0, false, false
	for !s.done() {
		if !clock && s.skip('T') {
			clock, some = true, false
			continue
		}
		n, ok := s.decimal()
		if !ok {
			return Duration{}, bad
		}
		for ; next < len(durationUnits); next++ {
			if u := durationUnits[next]; u.clock == clock && s.skip(u.letter) {
				sum.add(u.group, n.Mul(n, new(big.Rat).SetInt64(u.factor)))
				some = true
				break
			}
		}
		if next == len(durationUnits) {
			return Duration{}, bad
		}
		next++
	}
	if !some {
		return Duration{}, bad
	}
	return sum.duration()
}

// decimal takes a number with an optional sign and fraction. It bounds the digits, so that no text costs much.
func (s *scanner) decimal() (*big.Rat, bool) {
	const maxDigits = 20
	sign := s.sign()
	n := s.digits()
	if n == 0 || n > maxDigits {
		return nil, false
	}
	digits := s.rest[:n]
	s.rest = s.rest[n:]
	if s.skip('.') || s.skip(',') {
		f := s.digits()
		if f == 0 || f > maxDigits {
			return nil, false
		}
		digits += "." + s.rest[:f]
		s.rest = s.rest[f:]
	}
	r, ok := new(big.Rat).SetString(digits)
	if ok && sign < 0 {
		r.Neg(r)
	}
	return r, ok
}

// parseDateTimeDuration reads YYYY-MM-DDThh:mm:ss.fff or YYYYMMDDThhmmss.fff, as amounts.
func parseDateTimeDuration(text string) (Duration, error) {
	bad := badText("a duration", text)
	date, clock, hasClock := strings.Cut(text, "T")
	s := scanner{date}
	year, ok := s.number(4)
	if !ok {
		return Duration{}, bad
	}
	extended := s.skip('-')
	month, ok1 := s.number(2)
	if extended && !s.skip('-') {
		return Duration{}, bad
	}
	day, ok2 := s.number(2)
	if !ok1 || !ok2 || !s.done() || month > 12 || day > 31 {
		return Duration{}, bad
	}
	var nanos int64
	if hasClock {
		t, err := ParseLocalTime(clock)
		if err != nil {
			return Duration{}, err
		}
		nanos = int64(t)
	}
	return makeDuration(year*12+month, day, 0, nanos)
}
