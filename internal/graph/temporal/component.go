package temporal

// dateComponent returns a component that depends only on the date.
func dateComponent(d Date, name string) (int64, bool) {
	year, month, day := d.ymd()
	switch name {
	case "year":
		return year, true
	case "quarter":
		return (month + 2) / 3, true
	case "month":
		return month, true
	case "week":
		_, w := d.week()
		return w, true
	case "weekYear":
		y, _ := d.week()
		return y, true
	case "day":
		return day, true
	case "ordinalDay":
		return d.ordinalDay(), true
	case "dayOfQuarter", "quarterDay":
		return d.dayOfQuarter(), true
	case "dayOfWeek", "weekDay":
		return d.weekday(), true
	}
	return 0, false
}

// clockComponent returns a component that depends only on the time of day. The fractions of the second include one another:
// 0.645876123 s are 645 milliseconds and 645876 microseconds.
func clockComponent(t LocalTime, name string) (int64, bool) {
	n := int64(t)
	nano := n % nanosPerSecond
	switch name {
	case "hour":
		return n / nanosPerHour, true
	case "minute":
		return n / nanosPerMinute % 60, true
	case "second":
		return n / nanosPerSecond % 60, true
	case "millisecond":
		return nano / 1_000_000, true
	case "microsecond":
		return nano / 1_000, true
	case "nanosecond":
		return nano, true
	}
	return 0, false
}

func offsetComponent(offset int32, name string) (int64, bool) {
	switch name {
	case "offsetMinutes":
		return int64(offset / 60), true
	case "offsetSeconds":
		return int64(offset), true
	}
	return 0, false
}

// Component reads a component by its openCypher name; it is not ok if instants of that kind have none of that name.
func (p Parts) Component(name string) (int64, bool) {
	if p.HasDate {
		if n, ok := dateComponent(p.Date, name); ok {
			return n, true
		}
	}
	if p.HasClock {
		if n, ok := clockComponent(p.Clock, name); ok {
			return n, true
		}
	}
	if !p.HasZone {
		return 0, false
	}
	if p.HasDate {
		switch t := p.dateTime(); name {
		case "epochSeconds":
			return t.Sec, true
		case "epochMillis":
			return t.Sec*1000 + int64(t.Nano)/1_000_000, true
		}
	}
	return offsetComponent(p.Offset, name)
}

// TextComponent reads timezone and offset, the components that are texts.
func (p Parts) TextComponent(name string) (string, bool) {
	if !p.HasZone {
		return "", false
	}
	switch name {
	case "timezone":
		if p.Zone.Location != nil {
			return p.Zone.Location.String(), true
		}
		return string(appendOffset(nil, p.Offset)), true
	case "offset":
		return string(appendOffset(nil, p.Offset)), true
	}
	return "", false
}

// Component returns a component by its openCypher name. Components of one group convert within it: hours to nanoseconds are all of
// the seconds, rounded towards zero, and the …Of… forms are the remainders.
func (d Duration) Component(name string) (int64, bool) {
	switch name {
	case "years":
		return d.Months / 12, true
	case "quarters":
		return d.Months / 3, true
	case "months":
		return d.Months, true
	case "weeks":
		return d.Days / 7, true
	case "days":
		return d.Days, true
	case "hours":
		return d.Seconds / 3600, true
	case "minutes":
		return d.Seconds / 60, true
	case "seconds":
		return d.Seconds, true
	case "milliseconds":
		return d.Seconds*1_000 + int64(d.Nanos)/1_000_000, true
	case "microseconds":
		return d.Seconds*1_000_000 + int64(d.Nanos)/1_000, true
	case "nanoseconds":
		return d.Seconds*nanosPerSecond + int64(d.Nanos), true
	case "quartersOfYear":
		return d.Months / 3 % 4, true
	case "monthsOfYear":
		return d.Months % 12, true
	case "monthsOfQuarter":
		return d.Months % 3, true
	case "daysOfWeek":
		return d.Days % 7, true
	case "minutesOfHour":
		return d.Seconds / 60 % 60, true
	case "secondsOfMinute":
		return d.Seconds % 60, true
	case "millisecondsOfSecond":
		return int64(d.Nanos) / 1_000_000, true
	case "microsecondsOfSecond":
		return int64(d.Nanos) / 1_000, true
	case "nanosecondsOfSecond":
		return int64(d.Nanos), true
	}
	return 0, false
}
