package temporal

import "time"

// baseDate is the date that the fields leave open parts to, or nil.
func (f *Fields) baseDate() (*Date, error) {
	p := f.Date
	if p == nil {
		p = f.DateTime
	}
	switch {
	case p == nil:
		return nil, nil
	case !p.HasDate:
		return nil, invalid("the instant given has no date")
	}
	return &p.Date, nil
}

// baseClock is the instant whose time of day the fields leave open parts to, or nil.
func (f *Fields) baseClock() (*Parts, error) {
	p := f.Time
	if p == nil {
		p = f.DateTime
	}
	if p != nil && !p.HasClock {
		return nil, invalid("the instant given has no time of day")
	}
	return p, nil
}

// check refuses bases and numbers that contradict one another or the kind that is made.
func (f *Fields) check(dates, clocks, epochs bool) error {
	switch {
	case f.DateTime != nil && (f.Date != nil || f.Time != nil):
		return invalid("datetime cannot be combined with date or time")
	case f.DateTime != nil && !(f.DateTime.HasDate && f.DateTime.HasClock):
		return invalid("datetime must be an instant with a date and a time of day")
	case !dates && (f.hasAny(Year, DayOfWeek) || f.Date != nil):
		return invalid("a time of day cannot be made of a date's fields")
	case !clocks && (f.hasAny(Hour, Nanosecond) || f.Time != nil):
		return invalid("a date cannot be made of a time's fields")
	case !epochs && f.hasAny(EpochSeconds, EpochMillis):
		return invalid("only a date-time can be made of epochSeconds or epochMillis")
	case f.has(EpochSeconds) && f.has(EpochMillis):
		return invalid("epochSeconds cannot be combined with epochMillis")
	}
	return nil
}

func (f *Fields) clockWithBase() (LocalTime, *Parts, error) {
	base, err := f.baseClock()
	if err != nil {
		return 0, nil, err
	}
	var clock *LocalTime
	if base != nil {
		clock = &base.Clock
	}
	t, err := f.clock(clock)
	return t, base, err
}

// MakeDate returns a date.
func (f *Fields) MakeDate() (Date, error) {
	if err := f.check(true, false, false); err != nil {
		return 0, err
	}
	base, err := f.baseDate()
	if err != nil {
		return 0, err
	}
	return f.date(base)
}

// MakeLocalTime returns a time of day without an offset. It needs the hour or a base.
func (f *Fields) MakeLocalTime() (LocalTime, error) {
	if err := f.check(false, true, false); err != nil {
		return 0, err
	}
	t, base, err := f.clockWithBase()
	if err == nil && base == nil && !f.has(Hour) {
		err = invalid("hour must be specified")
	}
	return t, err
}

// MakeTime returns a time of day with an offset. A base with an offset keeps its instant if another zone is given. Otherwise, the
// clock reading is in the zone, or in the default zone. A named zone has its current offset.
func (f *Fields) MakeTime(zone Zone, now time.Time) (Time, error) {
	if err := f.check(false, true, false); err != nil {
		return Time{}, err
	}
	t, base, err := f.clockWithBase()
	if err != nil {
		return Time{}, err
	}
	if base == nil && !f.has(Hour) {
		return Time{}, invalid("hour must be specified")
	}
	if base == nil || !base.HasZone {
		if f.Zone != nil {
			zone = *f.Zone
		}
		return Time{Local: t, Offset: zone.offsetAt(now.Unix())}, nil
	}
	made := Time{Local: t, Offset: base.Offset}
	if f.Zone != nil {
		made = made.at(f.Zone.offsetAt(now.Unix()))
	}
	return made, nil
}

// at returns the same instant on a clock with another offset.
func (t Time) at(offset int32) Time {
	n := floorMod(t.utc()+int64(offset)*nanosPerSecond, nanosPerDay)
	return Time{Local: LocalTime(n), Offset: offset}
}

// MakeLocalDateTime returns a date-time without a zone.
func (f *Fields) MakeLocalDateTime() (LocalDateTime, error) {
	if err := f.check(true, true, false); err != nil {
		return LocalDateTime{}, err
	}
	t, _, err := f.localWithBase()
	return t, err
}

func (f *Fields) localWithBase() (LocalDateTime, *Parts, error) {
	base, err := f.baseDate()
	if err != nil {
		return LocalDateTime{}, nil, err
	}
	d, err := f.date(base)
	if err != nil {
		return LocalDateTime{}, nil, err
	}
	t, baseClock, err := f.clockWithBase()
	return MakeLocalDateTime(d, t), baseClock, err
}

// MakeDateTime returns a date-time. It is in the zone of the instant that provided its time of day; if another zone is given as
// well, the instant stays. Without such an instant, the clock reading is in the given zone, or in the default zone.
func (f *Fields) MakeDateTime(zone Zone) (DateTime, error) {
	if err := f.check(true, true, true); err != nil {
		return DateTime{}, err
	}
	if f.hasAny(EpochSeconds, EpochMillis) {
		return f.fromEpoch(zone)
	}
	local, base, err := f.localWithBase()
	if err != nil {
		return DateTime{}, err
	}
	if base == nil || !base.HasZone {
		if f.Zone != nil {
			zone = *f.Zone
		}
		return local.In(zone), nil
	}
	t := local.in(base.Zone, base.Offset)
	if f.Zone != nil {
		t = t.In(*f.Zone)
	}
	return t, nil
}

func (f *Fields) fromEpoch(zone Zone) (DateTime, error) {
	if f.hasAny(Year, Second) || f.Date != nil || f.Time != nil || f.DateTime != nil {
		return DateTime{}, invalid("epochSeconds and epochMillis can be combined with fractions of the second and timezone alone")
	}
	sec := f.numbers[EpochSeconds]
	var nano int64
	if f.has(EpochMillis) {
		if f.has(Millisecond) {
			return DateTime{}, invalid("epochMillis cannot be combined with millisecond")
		}
		ms := f.numbers[EpochMillis]
		sec, nano = floorDiv(ms, 1000), floorMod(ms, 1000)*1_000_000
	}
	sub, err := f.fraction()
	if err != nil {
		return DateTime{}, err
	}
	if nano += sub; nano >= nanosPerSecond {
		return DateTime{}, outOfRange("the fraction of the second must be less than a second")
	}
	if f.Zone != nil {
		zone = *f.Zone
	}
	return FromEpoch(sec, nano, zone)
}

// FromEpoch returns a date-time from seconds and nanoseconds since 1970-01-01T00:00Z.
func FromEpoch(sec, nanos int64, zone Zone) (DateTime, error) {
	sec, ok := addInt(sec, floorDiv(nanos, nanosPerSecond))
	if !ok || !(LocalDateTime{Sec: sec}).Date().Valid() {
		return DateTime{}, errDateRange
	}
	return DateTime{Sec: sec, Nano: int32(floorMod(nanos, nanosPerSecond))}.In(zone), nil
}

// FromTime converts a time.Time to a date-time.
func FromTime(t time.Time, zone Zone) DateTime {
	return DateTime{Sec: t.Unix(), Nano: int32(t.Nanosecond())}.In(zone)
}

// ToDate extracts the date from an instant.
func (p Parts) ToDate() (Date, error) {
	if !p.HasDate {
		return 0, invalid("the instant given has no date")
	}
	return p.Date, nil
}

// ToLocalTime extracts the time of day from an instant.
func (p Parts) ToLocalTime() (LocalTime, error) {
	f := Fields{Time: &p}
	return f.MakeLocalTime()
}

// ToTime returns the time of day and offset of an instant; without an offset, it is in the given zone.
func (p Parts) ToTime(zone Zone, now time.Time) (Time, error) {
	f := Fields{Time: &p}
	return f.MakeTime(zone, now)
}

// ToLocalDateTime returns the date and time of day of an instant; a date is its midnight.
func (p Parts) ToLocalDateTime() (LocalDateTime, error) {
	if !p.HasDate {
		return LocalDateTime{}, invalid("the instant given has no date")
	}
	return p.local(), nil
}

// ToDateTime converts an instant to a date-time; a date is its midnight, and an instant without a zone is in the given one.
func (p Parts) ToDateTime(zone Zone) (DateTime, error) {
	if !p.HasDate {
		return DateTime{}, invalid("the instant given has no date")
	}
	if !p.HasZone {
		p.Zone, p.Offset = zone, anyOffset
	}
	return p.dateTime(), nil
}

// FromEpochMillis returns a date-time from milliseconds since 1970-01-01T00:00Z.
func FromEpochMillis(ms int64, zone Zone) (DateTime, error) {
	return FromEpoch(floorDiv(ms, 1000), floorMod(ms, 1000)*1_000_000, zone)
}
