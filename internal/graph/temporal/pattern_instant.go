package temporal

import (
	"strconv"
	"time"
)

// Format writes an instant by a pattern of Java's DateTimeFormatter in English, with weeks that begin on Sunday. The full names of
// zones, zzzz and v, are not known.
func (p Parts) Format(pattern string) (string, error) {
	parts, err := scanPattern(pattern)
	if err != nil {
		return "", err
	}
	if len(parts) > 0 && parts[0].letter == markUTC {
		var ok bool
		if p, ok = p.inUTC(); !ok {
			return "", invalid("%s is no instant", p.describe())
		}
		parts = parts[1:]
	}
	return formatParts(parts, p.describe(), p.field)
}

func (p Parts) describe() string {
	switch {
	case !p.HasClock:
		return "a date"
	case !p.HasDate:
		return "a time"
	case !p.HasZone:
		return "a local date-time"
	}
	return "a date-time"
}

// field writes a letter.
func (p Parts) field(dst []byte, letter byte, n int) ([]byte, bool, error) {
	var (
		has   bool
		write func([]byte, byte, int) ([]byte, error)
	)
	if letter <= markWeekday {
		dst, ok := p.mark(dst, letter)
		return dst, ok, nil
	}
	switch letter {
	case 'G', 'u', 'y', 'Y', 'D', 'M', 'L', 'd', 'g', 'Q', 'q', 'w', 'W', 'E', 'e', 'c', 'F':
		has, write = p.HasDate, p.dateField
	case 'a', 'B', 'h', 'K', 'k', 'H', 'm', 's', 'S', 'A', 'n', 'N':
		has, write = p.HasClock, p.clockField
	case 'V', 'v', 'z', 'O', 'X', 'x', 'Z':
		has, write = p.HasZone, p.zoneField
	default:
		return nil, false, invalid("%c is not a pattern letter; put it in quotes", letter)
	}
	if !has {
		return dst, false, nil
	}
	dst, err := write(dst, letter, n)
	return dst, true, err
}

func (p Parts) dateField(dst []byte, letter byte, n int) ([]byte, error) {
	year, month, day := p.Date.ymd()
	weekday := p.Date.weekday()%7 + 1 // from Sunday
	switch letter {
	case 'G':
		if year > 0 {
			return appendText(dst, letter, n, "AD", "Anno Domini", "A")
		}
		return appendText(dst, letter, n, "BC", "Before Christ", "B")
	case 'u':
		return appendYear(dst, letter, year, n)
	case 'y':
		if year <= 0 {
			year = 1 - year
		}
		return appendYear(dst, letter, year, n)
	case 'Y':
		year, _ = p.Date.weekFromSunday()
		return appendYear(dst, letter, year, n)
	case 'w':
		_, week := p.Date.weekFromSunday()
		return appendNumber(dst, letter, week, n, 2)
	case 'W':
		return appendNumber(dst, letter, (day+(weekday-day+35)%7-1)/7+1, n, 1)
	case 'F':
		return appendNumber(dst, letter, (day-1)/7+1, n, 1)
	case 'D':
		return appendNumber(dst, letter, p.Date.ordinalDay(), n, 3)
	case 'd':
		return appendNumber(dst, letter, day, n, 2)
	case 'g':
		return appendNumber(dst, letter, int64(p.Date)+40587, n, 19)
	case 'M', 'L':
		if n <= 2 {
			return appendNumber(dst, letter, month, n, 2)
		}
		name := time.Month(month).String()
		return appendText(dst, letter, n, name[:3], name, name[:1])
	case 'Q', 'q':
		quarter := (month + 2) / 3
		if n <= 2 {
			return appendNumber(dst, letter, quarter, n, 2)
		}
		digit := strconv.FormatInt(quarter, 10)
		ordinal := digit + [...]string{"st", "nd", "rd", "th"}[quarter-1]
		return appendText(dst, letter, n, "Q"+digit, ordinal+" quarter", digit)
	}
	if letter != 'E' && n <= 2 {
		most := 2
		if letter == 'c' {
			most = 1
		}
		return appendNumber(dst, letter, weekday, n, most)
	}
	name := time.Weekday(weekday - 1).String()
	return appendText(dst, letter, n, name[:3], name, name[:1])
}

// weekFromSunday is the week in a year whose weeks begin on Sunday and whose first holds January 1st.
func (d Date) weekFromSunday() (year, week int64) {
	saturday := d + Date(6-d.weekday()%7)
	year, _, _ = saturday.ymd()
	return year, (saturday.ordinalDay()-1)/7 + 1
}

func (p Parts) clockField(dst []byte, letter byte, n int) ([]byte, error) {
	clock := int64(p.Clock)
	hour := clock / nanosPerHour
	switch letter {
	case 'a':
		if n > 1 {
			return nil, tooMany(letter, n)
		}
		return append(dst, "AMPM"[hour/12*2:hour/12*2+2]...), nil
	case 'B':
		return p.period(dst, n)
	case 'h':
		return appendNumber(dst, letter, (hour+11)%12+1, n, 2)
	case 'K':
		return appendNumber(dst, letter, hour%12, n, 2)
	case 'k':
		return appendNumber(dst, letter, (hour+23)%24+1, n, 2)
	case 'H':
		return appendNumber(dst, letter, hour, n, 2)
	case 'm':
		return appendNumber(dst, letter, clock/nanosPerMinute%60, n, 2)
	case 's':
		return appendNumber(dst, letter, clock/nanosPerSecond%60, n, 2)
	case 'S':
		return appendFraction(dst, clock%nanosPerSecond, n)
	case 'A':
		return appendNumber(dst, letter, clock/1_000_000, n, 19)
	case 'n':
		return appendNumber(dst, letter, clock%nanosPerSecond, n, 19)
	}
	return appendNumber(dst, letter, clock, n, 19)
}

// period writes the period of the day.
func (p Parts) period(dst []byte, n int) ([]byte, error) {
	if n != 1 && n != 4 && n != 5 {
		return nil, tooMany('B', n)
	}
	minute := int64(p.Clock) / nanosPerMinute
	switch {
	case minute == 0 && n == 5:
		return append(dst, "mi"...), nil
	case minute == 0:
		return append(dst, "midnight"...), nil
	case minute == 12*60 && n == 5:
		return append(dst, 'n'), nil
	case minute == 12*60:
		return append(dst, "noon"...), nil
	case minute < 6*60 || minute >= 21*60:
		return append(dst, "at night"...), nil
	case minute < 12*60:
		return append(dst, "in the morning"...), nil
	case minute < 18*60:
		return append(dst, "in the afternoon"...), nil
	}
	return append(dst, "in the evening"...), nil
}

func (p Parts) zoneField(dst []byte, letter byte, n int) ([]byte, error) {
	switch {
	case letter == 'V' && n == 2:
		id, _ := p.TextComponent("timezone")
		return append(dst, id...), nil
	case letter == 'z' && n <= 3:
		if p.Zone.Location == nil || !p.HasDate {
			id, _ := p.TextComponent("timezone")
			return append(dst, id...), nil
		}
		name, _ := time.Unix(p.dateTime().Sec, 0).In(p.Zone.Location).Zone()
		return append(dst, name...), nil
	case letter == 'z' && n == 4, letter == 'v' && (n == 1 || n == 4):
		return nil, invalid("the pattern letters zzzz and v, full names of time zones, are not supported; use z or VV")
	case letter == 'O' && n == 1:
		return appendGMT(dst, p.Offset, false), nil
	case letter == 'O' && n == 4, letter == 'Z' && n == 4:
		return appendGMT(dst, p.Offset, true), nil
	case letter == 'X' && n <= 5:
		return appendPatternOffset(dst, p.Offset, n, "Z"), nil
	case letter == 'x' && n <= 5:
		return appendPatternOffset(dst, p.Offset, n, [...]string{"+00", "+0000", "+00:00", "+0000", "+00:00"}[n-1]), nil
	case letter == 'Z' && n <= 3:
		return appendPatternOffset(dst, p.Offset, 2, "+0000"), nil
	case letter == 'Z' && n == 5:
		return appendPatternOffset(dst, p.Offset, 5, "Z"), nil
	}
	return nil, tooMany(letter, n)
}

// appendPatternOffset writes an offset in the form of so many X: hours, with minutes unless they are 0; hours and minutes; the same
// with colons; the first two with seconds unless they are 0.
func appendPatternOffset(dst []byte, offset int32, style int, zero string) []byte {
	if offset == 0 {
		return append(dst, zero...)
	}
	s := int64(offset)
	if s < 0 {
		dst, s = append(dst, '-'), -s
	} else {
		dst = append(dst, '+')
	}
	colon := style == 3 || style == 5
	dst = append2(dst, s/3600)
	if style == 1 && s/60%60 == 0 {
		return dst
	}
	two := func(n int64) {
		if colon {
			dst = append(dst, ':')
		}
		dst = append2(dst, n)
	}
	two(s / 60 % 60)
	if style >= 4 && s%60 != 0 {
		two(s % 60)
	}
	return dst
}

// appendGMT writes GMT, GMT+1 or, in full, GMT+01:00.
func appendGMT(dst []byte, offset int32, full bool) []byte {
	dst = append(dst, "GMT"...)
	s := int64(offset)
	switch {
	case s == 0:
		return dst
	case full:
		return appendPatternOffset(dst, offset, 5, "")
	case s < 0:
		dst, s = append(dst, '-'), -s
	default:
		dst = append(dst, '+')
	}
	dst = strconv.AppendInt(dst, s/3600, 10)
	if s%3600 != 0 {
		dst = append2(append(dst, ':'), s/60%60)
	}
	if s%60 != 0 {
		dst = append2(append(dst, ':'), s%60)
	}
	return dst
}

// appendText writes one of three forms: short up to 3 letters, full with 4, narrow with 5.
func appendText(dst []byte, letter byte, n int, short, full, narrow string) ([]byte, error) {
	switch {
	case n <= 3:
		return append(dst, short...), nil
	case n == 4:
		return append(dst, full...), nil
	case n == 5:
		return append(dst, narrow...), nil
	}
	return nil, tooMany(letter, n)
}

// appendNumber writes a number in at least n digits, where n is at most most.
func appendNumber(dst []byte, letter byte, v int64, n, most int) ([]byte, error) {
	if n > most {
		return nil, tooMany(letter, n)
	}
	if v < 0 {
		dst, v = append(dst, '-'), -v
	}
	return appendPadded(dst, v, n), nil
}

// appendYear writes two letters as the last two digits. With four or more, a year that needs more digits than that has a plus.
func appendYear(dst []byte, letter byte, year int64, n int) ([]byte, error) {
	if n > 19 {
		return nil, tooMany(letter, n)
	}
	abs := max(year, -year)
	switch {
	case n == 2:
		return append2(dst, abs%100), nil
	case year < 0:
		dst = append(dst, '-')
	case n >= 4 && len(strconv.FormatInt(abs, 10)) > n:
		dst = append(dst, '+')
	}
	return appendPadded(dst, abs, n), nil
}

// appendFraction writes the first n digits of a fraction of a second.
func appendFraction(dst []byte, nanos int64, n int) ([]byte, error) {
	if n > 9 {
		return nil, tooMany('S', n)
	}
	begin := len(dst)
	return appendPadded(dst, nanos, 9)[:begin+n], nil
}
