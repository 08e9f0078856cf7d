package temporal

import "cmp"

// The orders below are total, and two values are equal exactly where their order is 0. Instants are ordered by where
// they lie on the time line, then from west to east, then by the zone's name.

// Compare orders two times by instant, then by offset.
func (t Time) Compare(o Time) int {
	if c := cmp.Compare(t.utc(), o.utc()); c != 0 {
		return c
	}
	return cmp.Compare(t.Offset, o.Offset)
}

// utc is the time on a clock at UTC in nanoseconds, which may lie outside of one day.
func (t Time) utc() int64 { return int64(t.Local) - int64(t.Offset)*nanosPerSecond }

// Compare orders two local date-times.
func (t LocalDateTime) Compare(o LocalDateTime) int {
	if c := cmp.Compare(t.Sec, o.Sec); c != 0 {
		return c
	}
	return cmp.Compare(t.Nano, o.Nano)
}

// Compare orders two date-times by instant, then by offset, then by zone name; a bare offset goes before a named zone.
func (t DateTime) Compare(o DateTime) int {
	if c := cmp.Compare(t.Sec, o.Sec); c != 0 {
		return c
	}
	if c := cmp.Compare(t.Nano, o.Nano); c != 0 {
		return c
	}
	if c := cmp.Compare(t.Offset, o.Offset); c != 0 {
		return c
	}
	return cmp.Compare(t.ZoneName(), o.ZoneName())
}

// ZoneName is the name of the named zone, or empty for a bare offset.
func (t DateTime) ZoneName() string {
	if t.Zone == nil {
		return ""
	}
	return t.Zone.String()
}

// Compare orders two durations by their average length, a month being a twelfth of 365.2425 days, then by months, days
// and seconds.
func (d Duration) Compare(o Duration) int {
	if c := cmpWide(d.averageNanos(), o.averageNanos()); c != 0 {
		return c
	}
	if c := cmp.Compare(d.Months, o.Months); c != 0 {
		return c
	}
	return cmp.Compare(d.Days, o.Days)
}
