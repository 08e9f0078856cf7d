package temporal

import "time"

// Unit is a unit that instants can be truncated to.
type Unit uint8

// The units, coarsest first.
const (
	Millennium Unit = iota
	Century
	Decade
	YearUnit
	WeekYear
	QuarterUnit
	MonthUnit
	WeekUnit
	DayUnit
	HourUnit
	MinuteUnit
	SecondUnit
	MillisecondUnit
	MicrosecondUnit
	numUnits
)

var unitNames = [numUnits]string{
	"millennium", "century", "decade", "year", "weekYear", "quarter", "month", "week", "day", "hour", "minute", "second",
	"millisecond", "microsecond",
}

// String returns the unit's name in openCypher.
func (u Unit) String() string { return unitNames[u] }

// UnitByName finds a unit.
func UnitByName(name string) (Unit, error) {
	for i, n := range unitNames {
		if n == name {
			return Unit(i), nil
		}
	}
	return 0, invalid("unknown unit %q", name)
}

// truncate returns the first day of the unit that holds the date.
func (d Date) truncate(u Unit) (Date, error) {
	y, m, _ := d.ymd()
	switch u {
	case Millennium:
		d = MakeDate(floorDiv(y, 1000)*1000, 1, 1)
	case Century:
		d = MakeDate(floorDiv(y, 100)*100, 1, 1)
	case Decade:
		d = MakeDate(floorDiv(y, 10)*10, 1, 1)
	case YearUnit:
		d = MakeDate(y, 1, 1)
	case WeekYear:
		weekYear, _ := d.week()
		d = weekOne(weekYear)
	case QuarterUnit:
		d = MakeDate(y, (m-1)/3*3+1, 1)
	case MonthUnit:
		d = MakeDate(y, m, 1)
	case WeekUnit:
		d -= Date(d.weekday() - 1)
	}
	if !d.Valid() {
		return 0, errDateRange
	}
	return d, nil
}

// truncate returns the first time of day in the unit; units from the day up leave midnight.
func (t LocalTime) truncate(u Unit) LocalTime {
	sizes := [...]LocalTime{nanosPerHour, nanosPerMinute, nanosPerSecond, 1_000_000, 1_000}
	if u <= DayUnit {
		return 0
	}
	return t - t%sizes[u-HourUnit]
}

// truncate truncates the existing parts. The zone stays, or the local time stays the same in the zone of the fields.
func (p Parts) truncate(u Unit, f *Fields) (Parts, error) {
	if p.HasDate {
		var err error
		if p.Date, err = p.Date.truncate(u); err != nil {
			return p, err
		}
	}
	p.Clock = p.Clock.truncate(u)
	if f.Zone != nil {
		p.Zone, p.HasZone, p.Offset = *f.Zone, true, anyOffset
	}
	return p, nil
}

// keepFraction hands the fraction that truncation has left on to the fields, so that a finer one adds to it.
func (f *Fields) keepFraction(u Unit, t LocalTime) {
	nano := int64(t) % nanosPerSecond
	switch {
	case u == MillisecondUnit && f.hasAny(Microsecond, Nanosecond) && !f.has(Millisecond):
		f.Set(Millisecond, nano/1_000_000)
	case u == MicrosecondUnit && f.has(Nanosecond) && !f.hasAny(Millisecond, Microsecond):
		f.Set(Microsecond, nano/1_000)
	}
}

// The Truncate functions move an instant back to the start of a unit, then apply the fields that are set. They
// modify f.

// TruncateDate truncates an instant that has a date.
func TruncateDate(u Unit, p Parts, f *Fields) (Date, error) {
	switch {
	case !p.HasDate:
		return 0, invalid("the instant given has no date")
	case u > DayUnit:
		return 0, invalid("the unit %s is too fine for a date", u)
	}
	p, err := p.truncate(u, f)
	if err != nil {
		return 0, err
	}
	f.Date, f.Zone = &p, nil
	return f.MakeDate()
}

// TruncateLocalTime truncates an instant that has a time of day.
func TruncateLocalTime(u Unit, p Parts, f *Fields) (LocalTime, error) {
	if err := truncatesClock(u, p); err != nil {
		return 0, err
	}
	f.keepFraction(u, p.Clock)
	p, err := p.truncate(u, f)
	if err != nil {
		return 0, err
	}
	f.Time, f.Zone = &p, nil
	return f.MakeLocalTime()
}

// TruncateTime truncates an instant that has a time of day; without an offset, it is in the default zone.
func TruncateTime(u Unit, p Parts, f *Fields, zone Zone, now time.Time) (Time, error) {
	if err := truncatesClock(u, p); err != nil {
		return Time{}, err
	}
	f.keepFraction(u, p.Clock)
	z := f.Zone
	f.Zone = nil
	p, err := p.truncate(u, f)
	if err != nil {
		return Time{}, err
	}
	f.Time = &p
	t, err := f.MakeTime(zone, now)
	if err == nil && z != nil {
		t.Offset = z.offsetAt(now.Unix())
	}
	return t, err
}

func truncatesClock(u Unit, p Parts) error {
	switch {
	case !p.HasClock:
		return invalid("the instant given has no time of day")
	case u < DayUnit:
		return invalid("the unit %s is too coarse for a time of day", u)
	}
	return nil
}

// TruncateLocalDateTime truncates an instant that has a date.
func TruncateLocalDateTime(u Unit, p Parts, f *Fields) (LocalDateTime, error) {
	p.HasZone, f.Zone = false, nil
	t, err := TruncateDateTime(u, p, f, UTC)
	return t.Local(), err
}

// TruncateDateTime truncates an instant that has a date; without a zone, it is in the default zone.
func TruncateDateTime(u Unit, p Parts, f *Fields, zone Zone) (DateTime, error) {
	if !p.HasDate {
		return DateTime{}, invalid("the instant given has no date")
	}
	f.keepFraction(u, p.Clock)
	p, err := p.truncate(u, f)
	if err != nil {
		return DateTime{}, err
	}
	if !p.HasZone {
		p.Zone, p.Offset = zone, anyOffset
	}
	p.HasZone, p.HasClock = true, true
	f.DateTime, f.Zone = &p, nil
	return f.MakeDateTime(zone)
}
