package temporal

// Field is a numeric component of an instant.
type Field uint8

// The fields, dates' before clocks'.
const (
	Year Field = iota
	Quarter
	Month
	Week
	Day
	OrdinalDay
	DayOfQuarter
	DayOfWeek
	Hour
	Minute
	Second
	Millisecond
	Microsecond
	Nanosecond
	EpochSeconds
	EpochMillis
	numFields
)

var fieldNames = [numFields]string{
	"year", "quarter", "month", "week", "day", "ordinalDay", "dayOfQuarter", "dayOfWeek", "hour", "minute", "second",
	"millisecond", "microsecond", "nanosecond", "epochSeconds", "epochMillis",
}

// String returns the field's name in a map.
func (f Field) String() string { return fieldNames[f] }

// FieldByName finds a field; weekDay is another name of dayOfWeek, quarterDay of dayOfQuarter.
func FieldByName(name string) (Field, bool) {
	switch name {
	case "weekDay":
		return DayOfWeek, true
	case "quarterDay":
		return DayOfQuarter, true
	}
	for i, n := range fieldNames {
		if n == name {
			return Field(i), true
		}
	}
	return 0, false
}

// Fields are the entries of the map from which an instant is built: numbers, and instants that provide components without a number.
// The zero Fields has none.
type Fields struct {
	set     uint32
	numbers [numFields]int64

	Date     *Parts // date: an instant that has a date
	Time     *Parts // time: an instant that has a time of day
	DateTime *Parts // datetime: an instant that has both
	Zone     *Zone  // timezone
}

// Set sets the number of a field.
func (f *Fields) Set(field Field, n int64) {
	f.set |= 1 << field
	f.numbers[field] = n
}

func (f *Fields) has(field Field) bool { return f.set&(1<<field) != 0 }

// hasAny reports whether one of the fields from low to high is set.
func (f *Fields) hasAny(low, high Field) bool { return f.set>>low&(1<<(high-low+1)-1) != 0 }

// get returns a field's number, or def where it is not set.
func (f *Fields) get(field Field, def int64) int64 {
	if f.has(field) {
		return f.numbers[field]
	}
	return def
}

// only checks that, of the fields from low to high, at most the given ones are set.
func (f *Fields) only(low, high Field, allowed ...Field) error {
	for field := low; field <= high; field++ {
		if !f.has(field) {
			continue
		}
		ok := false
		for _, a := range allowed {
			ok = ok || a == field
		}
		if !ok {
			return invalid("%s cannot be combined with %s", field, allowed[len(allowed)-1])
		}
	}
	return nil
}

// ZoneOnly reports whether the zone is all that is given: then the current time there is meant.
func (f *Fields) ZoneOnly() bool {
	return f.Zone != nil && f.set == 0 && f.Date == nil && f.Time == nil && f.DateTime == nil
}

// date builds a date from the fields, and takes missing components from base, if there is one. The finest field selects the
// calendar: week dates, ordinal days, quarter days, or months.
func (f *Fields) date(base *Date) (Date, error) {
	if base != nil && !f.hasAny(Year, DayOfWeek) {
		return *base, nil
	}
	if base == nil && !f.has(Year) {
		return 0, invalid("year must be specified")
	}
	switch {
	case f.has(Week) || f.has(DayOfWeek):
		return f.weekDate(base)
	case f.has(OrdinalDay):
		return f.ordinalDate(base)
	case f.has(Quarter) || f.has(DayOfQuarter):
		return f.quarterDate(base)
	}
	year, month, day := int64(0), int64(1), int64(1)
	if base != nil {
		year, month, day = base.ymd()
	} else if f.has(Day) && !f.has(Month) {
		return 0, invalid("month must be specified")
	}
	return dateOfDay(f.get(Year, year), f.get(Month, month), f.get(Day, day))
}

func (f *Fields) weekDate(base *Date) (Date, error) {
	if err := f.only(Year, DayOfWeek, Year, DayOfWeek, Week); err != nil {
		return 0, err
	}
	year, week, day := int64(0), int64(1), int64(1)
	if base != nil {
		year, week = base.week()
		day = base.weekday()
	} else if !f.has(Week) {
		return 0, invalid("week must be specified")
	}
	return dateOfWeek(f.get(Year, year), f.get(Week, week), f.get(DayOfWeek, day))
}

func (f *Fields) ordinalDate(base *Date) (Date, error) {
	if err := f.only(Year, DayOfWeek, Year, OrdinalDay); err != nil {
		return 0, err
	}
	year := int64(0)
	if base != nil {
		year, _, _ = base.ymd()
	}
	return dateOfOrdinal(f.get(Year, year), f.get(OrdinalDay, 1))
}

func (f *Fields) quarterDate(base *Date) (Date, error) {
	if err := f.only(Year, DayOfWeek, Year, DayOfQuarter, Quarter); err != nil {
		return 0, err
	}
	year, quarter, day := int64(0), int64(1), int64(1)
	if base != nil {
		year, _, _ = base.ymd()
		quarter, day = base.quarter(), base.dayOfQuarter()
	} else if !f.has(Quarter) {
		return 0, invalid("quarter must be specified")
	}
	return dateOfQuarter(f.get(Year, year), f.get(Quarter, quarter), f.get(DayOfQuarter, day))
}

// clock builds a time of day from the fields, and takes missing components from base. Without a base, a finer field requires all
// coarser ones.
func (f *Fields) clock(base *LocalTime) (LocalTime, error) {
	if base != nil && !f.hasAny(Hour, Nanosecond) {
		return *base, nil
	}
	var hour, minute, second, nano int64
	if base != nil {
		n := int64(*base)
		hour, minute = n/nanosPerHour, n/nanosPerMinute%60
		second, nano = n/nanosPerSecond%60, n%nanosPerSecond
	} else {
		for field := Hour; field <= Second; field++ {
			if !f.has(field) && f.hasAny(field+1, Nanosecond) {
				return 0, invalid("%s must be specified", field)
			}
		}
	}
	if f.hasAny(Millisecond, Nanosecond) {
		var err error
		if nano, err = f.fraction(); err != nil {
			return 0, err
		}
	}
	return makeClock(f.get(Hour, hour), f.get(Minute, minute), f.get(Second, second), nano)
}

// fraction adds up the fields below the second. Each may be as large as the next coarser one that is set leaves room for.
func (f *Fields) fraction() (int64, error) {
	room := int64(nanosPerSecond)
	var nanos int64
	for _, u := range [...]struct {
		field Field
		size  int64
	}{{Millisecond, 1_000_000}, {Microsecond, 1_000}, {Nanosecond, 1}} {
		if !f.has(u.field) {
			continue
		}
		n := f.numbers[u.field]
		if err := checkRange(u.field.String(), n, 0, room/u.size-1); err != nil {
			return 0, err
		}
		nanos += n * u.size
		room = u.size
	}
	return nanos, nil
}
