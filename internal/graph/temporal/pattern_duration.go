package temporal

import (
	"math/big"
	"strings"
)

// patternUnit is a unit of durations with its letters.
type patternUnit struct {
	letters string
	size    int64
}

// patternUnits are the units by group, the largest first, in months, days and nanoseconds.
var patternUnits = [...][]patternUnit{
	{{"yYu", 12}, {"qQ", 3}, {"ML", 1}},
	{{"wW", 7}, {"dD", 1}},
	{{"hHkK", nanosPerHour}, {"m", nanosPerMinute}, {"s", nanosPerSecond}, {"A", 1_000_000}, {"N", 1}},
}

// Format writes a duration by a pattern of letters. A unit that the pattern names is what the larger units that it names leave of
// their group: years, quarters and months are one, weeks and days another, hours to nanoseconds the last.
func (d Duration) Format(pattern string) (string, error) {
	parts, err := scanPattern(pattern)
	if err != nil {
		return "", err
	}
	named := lettersOf(nil, parts)
	nanos := new(big.Int).Mul(big.NewInt(d.Seconds), big.NewInt(nanosPerSecond))
	nanos.Add(nanos, big.NewInt(int64(d.Nanos)))
	amounts := map[byte]*big.Int{}
	fraction := new(big.Int).Abs(new(big.Int).Rem(nanos, big.NewInt(nanosPerSecond))).Int64()
	for g, rest := range []*big.Int{big.NewInt(d.Months), big.NewInt(d.Days), nanos} {
		for _, u := range patternUnits[g] {
			if !strings.ContainsAny(u.letters, string(named)) {
				continue
			}
			n, left := new(big.Int).QuoRem(rest, big.NewInt(u.size), new(big.Int))
			for _, l := range []byte(u.letters) {
				amounts[l] = n
			}
			rest = left
		}
	}
	return formatParts(parts, "a duration", func(dst []byte, letter byte, n int) ([]byte, bool, error) {
		if n > maxPatternWidth {
			return nil, false, tooMany(letter, n)
		}
		switch letter {
		case 'S':
			dst, err := appendFraction(dst, fraction, n)
			return dst, true, err
		case 'n':
			return appendPadded(dst, fraction, n), true, nil
		}
		amount, ok := amounts[letter]
		if !ok {
			return dst, false, nil
		}
		digits := new(big.Int).Abs(amount).String()
		if amount.Sign() < 0 {
			dst = append(dst, '-')
		}
		for i := len(digits); i < n; i++ {
			dst = append(dst, '0')
		}
		return append(dst, digits...), true, nil
	})
}

// lettersOf appends the letters of a pattern's parts.
func lettersOf(dst []byte, parts []patternPart) []byte {
	for i := range parts {
		if l := parts[i].letter; l == '[' {
			dst = lettersOf(dst, parts[i].inner)
		} else if l != 0 {
			dst = append(dst, l)
		}
	}
	return dst
}
