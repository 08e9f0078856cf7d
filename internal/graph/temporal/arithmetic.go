package temporal

// Add moves the date by the duration's months, its days, and the whole days of its seconds.
func (d Date) Add(x Duration) (Date, error) {
	d, err := d.addMonths(x.Months)
	if err != nil {
		return 0, err
	}
	if d, err = d.addDays(x.Days); err != nil {
		return 0, err
	}
	seconds := x.Seconds
	if seconds < 0 && x.Nanos > 0 {
		seconds++ // the division below rounds towards zero
	}
	return d.addDays(seconds / secondsPerDay)
}

// Add advances the clock by the duration's seconds and ignores months and days.
func (t LocalTime) Add(x Duration) LocalTime {
	n := int64(t) + floorMod(x.Seconds, secondsPerDay)*nanosPerSecond + int64(x.Nanos)
	return LocalTime(floorMod(n, nanosPerDay))
}

// Add advances the clock by the duration's seconds and ignores months and days.
func (t Time) Add(x Duration) Time { return Time{Local: t.Local.Add(x), Offset: t.Offset} }

// Add moves by months, then by days, then by seconds.
func (t LocalDateTime) Add(x Duration) (LocalDateTime, error) {
	t, err := t.addDate(x.Months, x.Days)
	if err != nil {
		return t, err
	}
	return t.addSeconds(x.Seconds, x.Nanos)
}

func (t LocalDateTime) addDate(months, days int64) (LocalDateTime, error) {
	d, err := t.Date().addMonths(months)
	if err != nil {
		return t, err
	}
	if d, err = d.addDays(days); err != nil {
		return t, err
	}
	return MakeLocalDateTime(d, t.Clock()), nil
}

func (t LocalDateTime) addSeconds(seconds int64, nanos int32) (LocalDateTime, error) {
	sec, ok := addInt(t.Sec, seconds)
	moved := LocalDateTime{Sec: sec, Nano: t.Nano + nanos}
	if ok && moved.Nano >= nanosPerSecond {
		moved.Nano -= nanosPerSecond
		moved.Sec, ok = addInt(sec, 1)
	}
	if !ok || !moved.Date().Valid() {
		return t, errDateRange
	}
	return moved, nil
}

// Add moves by months and days in local time, then by seconds on the time line.
func (t DateTime) Add(x Duration) (DateTime, error) {
	z := t.inZone()
	if x.Months != 0 || x.Days != 0 {
		local, err := t.Local().addDate(x.Months, x.Days)
		if err != nil {
			return t, err
		}
		t = local.in(z, t.Offset)
	}
	if x.Seconds == 0 && x.Nanos == 0 {
		return t, nil
	}
	at, err := LocalDateTime{Sec: t.Sec, Nano: t.Nano}.addSeconds(x.Seconds, x.Nanos)
	if err != nil {
		return t, err
	}
	return DateTime{Sec: at.Sec, Nano: at.Nano}.In(z), nil
}

// MakeLocalDateTime combines a date and a time of day.
func MakeLocalDateTime(d Date, t LocalTime) LocalDateTime {
	return LocalDateTime{Sec: int64(d)*secondsPerDay + int64(t)/nanosPerSecond, Nano: int32(int64(t) % nanosPerSecond)}
}

// Date returns the day.
func (t LocalDateTime) Date() Date { return Date(floorDiv(t.Sec, secondsPerDay)) }

// Clock returns the time of day.
func (t LocalDateTime) Clock() LocalTime {
	return LocalTime(floorMod(t.Sec, secondsPerDay)*nanosPerSecond + int64(t.Nano))
}
