package temporal

import (
	"strings"
	"time"
)

// ParseLocalTime parses a time of day, HH:MM:SS.fff or HHMMSS.fff, down to an hour.
func ParseLocalTime(text string) (LocalTime, error) {
	s := scanner{text}
	t, err := s.clock("a local time", text)
	if err == nil && !s.done() {
		err = badText("a local time", text)
	}
	return t, err
}

// ParseTime reads a time of day with an offset; a text without one takes the zone's, which for a named zone is that of
// the instant now.
func ParseTime(text string, zone Zone, now time.Time) (Time, error) {
	s := scanner{text}
	t, err := s.clock("a time", text)
	if err != nil {
		return Time{}, err
	}
	if s.done() {
		return Time{Local: t, Offset: zone.offsetAt(now.Unix())}, nil
	}
	offset, ok := s.offset()
	if !ok || !s.done() {
		return Time{}, badText("a time", text)
	}
	return Time{Local: t, Offset: offset}, nil
}

// ParseLocalDateTime parses a date and a time of day with T between them, or a date.
func ParseLocalDateTime(text string) (LocalDateTime, error) {
	s := scanner{text}
	t, err := s.localDateTime("a local date-time", text)
	if err == nil && !s.done() {
		err = badText("a local date-time", text)
	}
	return t, err
}

// ParseDateTime parses a date and a time of day with T between them, and an offset, a named zone in brackets, or both; a text
// without a zone is in the given one.
func ParseDateTime(text string, zone Zone) (DateTime, error) {
	s := scanner{text}
	local, err := s.localDateTime("a date-time", text)
	if err != nil {
		return DateTime{}, err
	}
	if s.done() {
		return local.In(zone), nil
	}
	bad := badText("a date-time", text)
	given := anyOffset
	if s.rest[0] != '[' {
		var ok bool
		if given, ok = s.offset(); !ok {
			return DateTime{}, bad
		}
		if s.done() {
			return local.In(Zone{Offset: given}), nil
		}
	}
	name, ok := strings.CutPrefix(s.rest, "[")
	if name, ok2 := strings.CutSuffix(name, "]"); ok && ok2 {
		z, err := ParseZone(name)
		if err != nil {
			return DateTime{}, err
		}
		t := local.in(z, given)
		if given != anyOffset && (t.Offset != given || t.Local() != local) {
			return DateTime{}, invalid("%q: the zone does not have that offset at that time", text)
		}
		return t, nil
	}
	return DateTime{}, bad
}

// ParseZone reads an offset, as Z or +01:00, or the name of a zone, as Europe/Stockholm.
func ParseZone(text string) (Zone, error) {
	s := scanner{text}
	if offset, ok := s.offset(); ok && s.done() {
		return Zone{Offset: offset}, nil
	}
	l, err := loadLocation(text)
	if err != nil {
		return Zone{}, err
	}
	return Zone{Location: l}, nil
}

func (s *scanner) localDateTime(what, text string) (LocalDateTime, error) {
	d, err := s.date(text)
	if err != nil {
		return LocalDateTime{}, err
	}
	var t LocalTime
	if s.skip('T') {
		if t, err = s.clock(what, text); err != nil {
			return LocalDateTime{}, err
		}
	}
	return MakeLocalDateTime(d, t), nil
}

func (s *scanner) clock(what, text string) (LocalTime, error) {
	bad := badText(what, text)
	hour, ok := s.number(2)
	if !ok {
		return 0, bad
	}
	var minute, second, nano int64
	extended := s.skip(':')
	if extended || s.digits() > 0 {
		if minute, ok = s.number(2); !ok {
			return 0, bad
		}
		if extended && s.skip(':') || !extended && s.digits() > 0 {
			if second, ok = s.number(2); !ok {
				return 0, bad
			}
			if nano, ok = s.fraction(); !ok {
				return 0, bad
			}
		}
	}
	return makeClock(hour, minute, second, nano)
}

func makeClock(hour, minute, second, nano int64) (LocalTime, error) {
	if err := checkRange("hour", hour, 0, 23); err != nil {
		return 0, err
	}
	if err := checkRange("minute", minute, 0, 59); err != nil {
		return 0, err
	}
	if err := checkRange("second", second, 0, 59); err != nil {
		return 0, err
	}
	return LocalTime(hour*nanosPerHour + minute*nanosPerMinute + second*nanosPerSecond + nano), nil
}

// offset takes Z, or a sign and hours, minutes and seconds with or without colons.
func (s *scanner) offset() (int32, bool) {
	if s.skip('Z') {
		return 0, true
	}
	sign := s.sign()
	if sign == 0 {
		return 0, false
	}
	hour, ok := s.number(2)
	if !ok {
		return 0, false
	}
	var minute, second int64
	extended := s.skip(':')
	if extended || s.digits() > 0 {
		if minute, ok = s.number(2); !ok {
			return 0, false
		}
		if extended && s.skip(':') || !extended && s.digits() > 0 {
			if second, ok = s.number(2); !ok {
				return 0, false
			}
		}
	}
	n := hour*3600 + minute*60 + second
	if minute > 59 || second > 59 || n > maxOffset {
		return 0, false
	}
	return int32(sign * n), true
}
