package temporal

import (
	"strconv"
	"strings"
	"time"
)

// ParsePattern parses an instant by a pattern of Java's DateTimeFormatter. The result lacks fields without a letter in the pattern.
// Names of weekdays are parsed and ignored. The letters are y, u, M, L, d, D, H, k, K, h, a,
// m, s, S, n, A, N, E, X, x, Z, O, V and z, the last two with names of the IANA database.
func ParsePattern(text, pattern string) (Parts, error) {
	parts, err := scanPattern(pattern)
	if err != nil {
		return Parts{}, err
	}
	p := patternReader{rest: text, month: 1, day: 1}
	if err := p.read(parts); err != nil {
		return Parts{}, invalid("%q is not written as %q: %v", text, shownPattern(pattern), err)
	}
	if p.rest != "" {
		return Parts{}, invalid("%q is not written as %q: it goes on with %q", text, shownPattern(pattern), p.rest)
	}
	return p.parts(text)
}

// patternReader takes the fields of an instant off the head of a text.
type patternReader struct {
	rest                             string
	year, month, day                 int64
	hour, minute, second, nano       int64
	weekYear, week, weekday, ordinal int64
	offset                           int32
	location                         *time.Location
	afternoon, h12                   bool
	hasDate, hasClock, hasZone       bool
	hasOffset                        bool // the text has it
}

func (p *patternReader) read(parts []patternPart) error {
	for i, part := range parts {
		switch {
		case part.letter == '[': // a section that may be left out
			before := *p
			if p.read(part.inner) != nil {
				*p = before
			}
			continue
		case part.letter == 0:
			rest, ok := strings.CutPrefix(p.rest, part.text)
			if !ok {
				return invalid("there is no %q before %q", part.text, p.rest)
			}
			p.rest = rest
			continue
		case part.letter <= markWeekday:
			if err := p.readMark(part.letter); err != nil {
				return err
			}
			continue
		}
		// Digits that touch the next number are as many as there are letters.
		touches := i+1 < len(parts) && isPatternLetter(parts[i+1].letter)
		if err := p.field(part.letter, part.n, touches); err != nil {
			return err
		}
	}
	return nil
}

func (p *patternReader) field(letter byte, n int, touches bool) error {
	most := 19
	if touches || letter == 'S' {
		most = n
	}
	if letter == 'M' || letter == 'L' || letter == 'E' || letter == 'a' {
		if n > 2 || letter == 'E' || letter == 'a' {
			return p.name(letter)
		}
	}
	switch letter {
	case 'X', 'x', 'Z', 'O':
		p.hasZone, p.hasOffset = true, true
		return p.zone(letter)
	case 'V', 'z':
		end := strings.IndexFunc(p.rest, func(r rune) bool { return !isZoneName(r) })
		if end < 0 {
			end = len(p.rest)
		}
		name := p.rest[:end]
		p.rest = p.rest[end:]
		return p.region(name)
	}
	at := map[byte]*int64{
		'y': &p.year, 'u': &p.year, 'M': &p.month, 'L': &p.month, 'd': &p.day, 'H': &p.hour, 'k': &p.hour, 'h': &p.hour, 'K': &p.hour,
		'm': &p.minute, 's': &p.second, 'S': &p.nano, 'n': &p.nano, 'D': &p.ordinal, 'A': &p.nano, 'N': &p.nano,
	}[letter]
	if at == nil {
		return invalid("%c cannot be read", letter)
	}
	digits := 0
	for digits < len(p.rest) && digits < most && '0' <= p.rest[digits] && p.rest[digits] <= '9' {
		digits++
	}
	v, err := strconv.ParseInt(p.rest[:digits], 10, 64)
	if err != nil {
		return invalid("there is no number before %q", p.rest)
	}
	p.rest = p.rest[digits:]
	switch letter {
	case 'S':
		for ; digits < 9; digits++ {
			v *= 10
		}
	case 'A', 'N':
		if letter == 'A' {
			v = min(v, nanosPerDay) * 1_000_000
		}
		p.hour, p.minute, p.second, v = v/nanosPerHour, v/nanosPerMinute%60, v/nanosPerSecond%60, v%nanosPerSecond
	case 'h', 'K':
		p.h12, v = true, v%12
	case 'k':
		v %= 24
	case 'y', 'u':
		if n == 2 {
			v += 2000
		}
	}
	*at = v
	if strings.IndexByte("yuMLdD", letter) >= 0 {
		p.hasDate = true
	} else {
		p.hasClock = true
	}
	return nil
}

// name reads the name of a month or a weekday, whole or its first three letters, or AM or PM.
func (p *patternReader) name(letter byte) error {
	take := func(name string) bool {
		for _, s := range []string{name, name[:min(3, len(name))]} {
			if len(p.rest) >= len(s) && strings.EqualFold(p.rest[:len(s)], s) {
				p.rest = p.rest[len(s):]
				return true
			}
		}
		return false
	}
	switch letter {
	case 'a':
		for i, s := range []string{"AM", "PM"} {
			if take(s) {
				p.afternoon = i == 1
				return nil
			}
		}
	case 'E':
		for d := time.Sunday; d <= time.Saturday; d++ {
			if take(d.String()) {
				return nil
			}
		}
	default:
		for m := time.January; m <= time.December; m++ {
			if take(m.String()) {
				p.month, p.hasDate = int64(m), true
				return nil
			}
		}
	}
	return invalid("there is no name before %q", p.rest)
}

// zone reads an offset: Z, +02, +0200 or +02:00.
func (p *patternReader) zone(letter byte) error {
	if letter == 'O' {
		rest, ok := strings.CutPrefix(p.rest, "GMT")
		if !ok {
			return invalid("there is no GMT before %q", p.rest)
		}
		if p.rest = rest; rest == "" || rest[0] != '+' && rest[0] != '-' {
			return nil
		}
		if len(rest) < 3 || rest[2] < '0' || rest[2] > '9' { // GMT+2
			p.rest = rest[:1] + "0" + rest[1:]
		}
	} else if rest, ok := strings.CutPrefix(p.rest, "Z"); ok && letter != 'x' {
		p.rest = rest
		return nil
	}
	end := 0
	for end < len(p.rest) && strings.IndexByte("+-:0123456789", p.rest[end]) >= 0 {
		end++
	}
	z, err := ParseZone(p.rest[:end])
	if err != nil || end == 0 {
		return invalid("there is no offset before %q", p.rest)
	}
	p.offset, p.rest = z.Offset, p.rest[end:]
	return nil
}

// parts checks the fields against the calendar.
func (p *patternReader) parts(text string) (Parts, error) {
	if p.h12 && p.afternoon {
		p.hour += 12
	}
	out := Parts{HasDate: p.hasDate, HasClock: p.hasClock, HasZone: p.hasZone, Offset: p.offset, Zone: Zone{Offset: p.offset}}
	var err error
	if p.hasDate {
		if out.Date, err = p.date(); err != nil {
			return Parts{}, invalid("%q: %v", text, err)
		}
	}
	if p.hasClock {
		if out.Clock, err = makeClock(p.hour, p.minute, p.second, p.nano); err != nil {
			return Parts{}, invalid("%q: %v", text, err)
		}
	}
	out.locate(p.location, p.hasOffset)
	return out, nil
}

func isZoneName(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("/_+-:~", r)
}
