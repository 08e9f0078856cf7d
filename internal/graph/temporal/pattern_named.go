package temporal

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// The patterns of names have these marks beside letters, for what letters cannot say.
const (
	markUTC      = '\x01' // at the beginning: the instant in UTC
	markFraction = '\x02' // a fraction of a second with its point, without zeros at its end; none if it is 0
	markGroups   = '\x03' // the same in groups of three digits
	markRegion   = '\x04' // the name of a zone in brackets; nothing for an offset
	markGMT      = '\x05' // GMT, or an offset without colons
	markWeekYear = '\x06' // the year of the ISO week
	markWeek     = '\x07' // the ISO week in two digits
	markWeekday  = '\x08' // 1 for Monday to 7
)

const (
	isoDate, isoTime = "uuuu-MM-dd", "HH:mm[:ss[\x02]]"
	isoLocal         = isoDate + "'T'" + isoTime
	isoWeek          = "\x06-'W'\x07-\x08"
	basicWeek        = "\x06'W'\x07\x08"
)

// namedPatterns are those of java.time.DateTimeFormatter and of Elasticsearch.
var namedPatterns = map[string]string{
	"basic_iso_date": "uuuuMMdd[XXXX]", "iso_local_date": isoDate, "iso_offset_date": isoDate + "XXXXX", "iso_date": isoDate + "[XXXXX]",
	"iso_local_time": isoTime, "iso_offset_time": isoTime + "XXXXX", "iso_time": isoTime + "[XXXXX]",
	"iso_local_date_time": isoLocal, "iso_offset_date_time": isoLocal + "XXXXX", "iso_zoned_date_time": isoLocal + "XXXXX\x04",
	"iso_date_time": isoLocal + "[XXXXX\x04]", "iso_ordinal_date": "uuuu-DDD[XXXXX]", "iso_week_date": isoWeek + "[XXXXX]",
	"iso_instant": "\x01" + isoDate + "'T'HH:mm:ss\x03XXX", "rfc_1123_date_time": "EEE, d MMM uuuu HH:mm:ss \x05",

	"date": isoDate, "year_month_day": isoDate, "year_month": "uuuu-MM", "year": "uuuu", "ordinal_date": "uuuu-DDD", "week_date": isoWeek,
	"weekyear": "\x06", "weekyear_week": "\x06-'W'\x07", "weekyear_week_day": isoWeek,
	"hour": "HH", "hour_minute": "HH:mm", "hour_minute_second": "HH:mm:ss", "hour_minute_second_fraction": "HH:mm:ss.SSS",
	"hour_minute_second_millis": "HH:mm:ss.SSS", "date_hour": isoDate + "'T'HH", "date_hour_minute": isoDate + "'T'HH:mm",
	"date_hour_minute_second": isoDate + "'T'HH:mm:ss", "date_hour_minute_second_fraction": isoDate + "'T'HH:mm:ss.SSS",
	"date_hour_minute_second_millis": isoDate + "'T'HH:mm:ss.SSS", "date_optional_time": isoDate + "['T'" + isoTime + "[XXX]]",
	"basic_date": "uuuuMMdd", "basic_ordinal_date": "uuuuDDD", "basic_week_date": basicWeek,
}

func init() {
	const date, clock, short = isoDate + "'T'", "HH:mm:ss", "HHmmss"
	for _, n := range [][4]string{ // name, before the time, time, zone
		{"time", "", clock, "XXX"},
		{"t_time", "'T'", clock, "XXX"},
		{"date_time", date, clock, "XXX"},
		{"ordinal_date_time", "uuuu-DDD'T'", clock, "XXX"},
		{"week_date_time", isoWeek + "'T'", clock, "XXX"},
		{"basic_time", "", short, "XX"},
		{"basic_t_time", "'T'", short, "XX"},
		{"basic_date_time", "uuuuMMdd'T'", short, "XX"},
		{"basic_ordinal_date_time", "uuuuDDD'T'", short, "XX"},
		{"basic_week_date_time", basicWeek + "'T'", short, "XX"},
	} {
		namedPatterns[n[0]] = n[1] + n[2] + ".SSS" + n[3]
		namedPatterns[n[0]+"_no_millis"] = n[1] + n[2] + n[3]
	}
}

// NamedPattern returns the pattern of a name, such as iso_zoned_date_time in any case, for ParsePattern and Parts.Format. What is no name is
// a pattern itself.
func NamedPattern(s string) string {
	if p, ok := namedPatterns[strings.ToLower(s)]; ok {
		return p
	}
	return s
}

// shownPattern returns how errors name a pattern: one with marks by its first name.
func shownPattern(pattern string) string {
	if strings.IndexFunc(pattern, func(r rune) bool { return markUTC <= r && r <= markWeekday }) < 0 {
		return pattern
	}
	for _, name := range slices.Sorted(maps.Keys(namedPatterns)) {
		if namedPatterns[name] == pattern {
			return name
		}
	}
	return pattern
}

// inUTC returns a date-time on the clocks of UTC. ok is false for what is no date-time with a zone.
func (p Parts) inUTC() (_ Parts, ok bool) {
	if !p.HasDate || !p.HasClock || !p.HasZone {
		return p, false
	}
	return p.dateTime().In(UTC).Parts(), true
}

// mark writes a mark; ok is false if the value has no such field.
func (p Parts) mark(dst []byte, m byte) (_ []byte, ok bool) {
	switch m {
	case markFraction, markGroups:
		return appendShortFraction(dst, int64(p.Clock)%nanosPerSecond, m == markGroups), p.HasClock
	case markRegion:
		if p.HasZone && p.Zone.Location != nil {
			dst = append(append(append(dst, '['), p.Zone.Location.String()...), ']')
		}
		return dst, true
	case markGMT:
		return appendPatternOffset(dst, p.Offset, 2, "GMT"), p.HasZone
	}
	year, week := p.Date.week()
	switch m {
	case markWeekYear:
		return appendPadded(dst, year, 4), p.HasDate
	case markWeek:
		return append2(dst, week), p.HasDate
	}
	return append(dst, '0'+byte(p.Date.weekday())), p.HasDate
}

// appendShortFraction writes a fraction of a second with its point, without zeros or groups of three zeros at its end.
func appendShortFraction(dst []byte, nanos int64, groups bool) []byte {
	if nanos == 0 {
		return dst
	}
	begin := len(dst) + 1
	dst = appendPadded(append(dst, '.'), nanos, 9)
	end := len(strings.TrimRight(string(dst[begin:]), "0"))
	if groups {
		end = (end + 2) / 3 * 3
	}
	return dst[:begin+end]
}

// readMark reads a mark.
func (p *patternReader) readMark(m byte) error {
	switch m {
	case markUTC:
		return nil
	case markFraction, markGroups:
		rest, ok := strings.CutPrefix(p.rest, ".")
		if !ok {
			return nil
		}
		p.rest = rest
		return p.field('S', 9, false)
	case markRegion:
		if !strings.HasPrefix(p.rest, "[") {
			return nil
		}
		name, rest, ok := strings.Cut(p.rest[1:], "]")
		if p.rest = rest; !ok {
			return invalid("there is no ] after %q", name)
		}
		return p.region(name)
	case markGMT:
		if rest, ok := strings.CutPrefix(p.rest, "GMT"); ok {
			p.rest, p.hasZone, p.hasOffset = rest, true, true
			return nil
		}
		return p.field('Z', 1, false)
	}
	at, digits := map[byte]*int64{markWeekYear: &p.weekYear, markWeek: &p.week, markWeekday: &p.weekday}[m], 2
	switch m {
	case markWeekYear:
		digits, p.weekday, p.week = 4, max(p.weekday, 1), max(p.week, 1)
	case markWeekday:
		digits = 1
	}
	p.hasDate = true
	return p.number(at, digits)
}

// region reads the name of a zone.
func (p *patternReader) region(name string) error {
	z, err := ParseZone(name)
	if err != nil {
		return err
	}
	p.hasZone, p.location = true, z.Location
	if z.Location == nil {
		p.offset, p.hasOffset = z.Offset, true
	}
	return nil
}

// number reads exactly so many digits.
func (p *patternReader) number(at *int64, digits int) error {
	if len(p.rest) < digits {
		return invalid("there are no %d digits before %q", digits, p.rest)
	}
	*at = 0
	for _, c := range []byte(p.rest[:digits]) {
		if c < '0' || c > '9' {
			return invalid("there are no %d digits before %q", digits, p.rest)
		}
		*at = *at*10 + int64(c-'0')
	}
	p.rest = p.rest[digits:]
	return nil
}

// date returns the date of the fields: of an ISO week, of a day of the year, or of a month.
func (p *patternReader) date() (Date, error) {
	switch {
	case p.week > 0 || p.weekYear > 0:
		if p.week < 1 || p.week > weeksInYear(p.weekYear) || p.weekday < 1 || p.weekday > 7 {
			return 0, invalid("the year %d has no day %d of week %d", p.weekYear, p.weekday, p.week)
		}
		return weekOne(p.weekYear) + Date((p.week-1)*7+p.weekday-1), nil
	case p.ordinal > 0:
		if p.ordinal > daysInYear(p.year) {
			return 0, invalid("the year %d has no day %d", p.year, p.ordinal)
		}
		first, err := dateOfDay(p.year, 1, 1)
		return first + Date(p.ordinal-1), err
	}
	return dateOfDay(p.year, p.month, p.day)
}

// locate finds the offset of a named zone, if the text has given none.
func (p *Parts) locate(l *time.Location, hasOffset bool) {
	p.Zone.Location = l
	if l != nil && p.HasDate && p.HasClock && !hasOffset {
		*p = p.local().In(p.Zone).Parts()
	}
}
