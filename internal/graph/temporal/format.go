package temporal

import (
	"bytes"
	"strconv"
)

// The Append methods write the result of toString(), and String returns it.

// Append writes YYYY-MM-DD, with a sign before years outside of 0 to 9999.
func (d Date) Append(dst []byte) []byte {
	y, m, day := d.ymd()
	switch {
	case y < 0:
		dst = append(dst, '-')
		y = -y
	case y > 9999:
		dst = append(dst, '+')
	}
	dst = append2(append(appendPadded(dst, y, 4), '-'), m)
	return append2(append(dst, '-'), day)
}

// Append writes HH:MM:SS, and as many digits of the fraction of a second as it has, up to 9.
func (t LocalTime) Append(dst []byte) []byte {
	n := int64(t)
	dst = append2(dst, n/nanosPerHour)
	dst = append2(append(dst, ':'), n/nanosPerMinute%60)
	dst = append2(append(dst, ':'), n/nanosPerSecond%60)
	if nanos := n % nanosPerSecond; nanos != 0 {
		dst = appendNanos(dst, nanos)
	}
	return dst
}

// appendNanos writes a point and nanoseconds, which are not 0, as a fraction of a second.
func appendNanos(dst []byte, nanos int64) []byte {
	return bytes.TrimRight(appendPadded(append(dst, '.'), nanos, 9), "0")
}

// Append writes the clock and the offset.
func (t Time) Append(dst []byte) []byte { return appendOffset(t.Local.Append(dst), t.Offset) }

// Append writes the date, T and the clock.
func (t LocalDateTime) Append(dst []byte) []byte {
	return t.Clock().Append(append(t.Date().Append(dst), 'T'))
}

// Append writes the date and clock on the spot, the offset, and a named zone in brackets.
func (t DateTime) Append(dst []byte) []byte {
	dst = appendOffset(t.Local().Append(dst), t.Offset)
	if t.Zone == nil {
		return dst
	}
	dst = append(append(dst, '['), t.Zone.String()...)
	return append(dst, ']')
}

// Append writes P, the years, months and days, T, the hours, minutes and seconds; parts that are 0 are left out.
func (d Duration) Append(dst []byte) []byte {
	if d == (Duration{}) {
		return append(dst, "PT0S"...)
	}
	dst = append(dst, 'P')
	dst = appendPart(dst, d.Months/12, 'Y')
	dst = appendPart(dst, d.Months%12, 'M')
	dst = appendPart(dst, d.Days, 'D')
	if d.Seconds == 0 && d.Nanos == 0 {
		return dst
	}
	dst = append(dst, 'T')
	seconds, nanos := d.Seconds, int64(d.Nanos)
	if seconds < 0 && nanos > 0 {
		seconds++
		nanos -= nanosPerSecond
	}
	dst = appendPart(dst, seconds/3600, 'H')
	dst = appendPart(dst, seconds/60%60, 'M')
	seconds %= 60
	if nanos == 0 {
		return appendPart(dst, seconds, 'S')
	}
	if seconds < 0 || nanos < 0 {
		dst = append(dst, '-')
		seconds, nanos = -seconds, -nanos
	}
	return append(appendNanos(strconv.AppendInt(dst, seconds, 10), nanos), 'S')
}

func appendPart(dst []byte, n int64, unit byte) []byte {
	if n == 0 {
		return dst
	}
	return append(strconv.AppendInt(dst, n, 10), unit)
}

// appendOffset writes Z, or a sign, hours and minutes, and seconds unless they are 0.
func appendOffset(dst []byte, offset int32) []byte {
	if offset == 0 {
		return append(dst, 'Z')
	}
	n := int64(offset)
	if n < 0 {
		dst = append(dst, '-')
		n = -n
	} else {
		dst = append(dst, '+')
	}
	dst = append2(append(append2(dst, n/3600), ':'), n/60%60)
	if n%60 != 0 {
		dst = append2(append(dst, ':'), n%60)
	}
	return dst
}

func append2(dst []byte, n int64) []byte { return append(dst, byte('0'+n/10), byte('0'+n%10)) }

// appendPadded writes a number that is not negative in at least width digits.
func appendPadded(dst []byte, n int64, width int) []byte {
	var buf [20]byte
	digits := strconv.AppendInt(buf[:0], n, 10)
	for i := len(digits); i < width; i++ {
		dst = append(dst, '0')
	}
	return append(dst, digits...)
}

func (d Date) String() string          { return string(d.Append(nil)) }
func (t LocalTime) String() string     { return string(t.Append(nil)) }
func (t Time) String() string          { return string(t.Append(nil)) }
func (t LocalDateTime) String() string { return string(t.Append(nil)) }
func (t DateTime) String() string      { return string(t.Append(nil)) }
func (d Duration) String() string      { return string(d.Append(nil)) }
