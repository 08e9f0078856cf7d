package temporal

// align adds to each instant the components that only the other has: a date gets midnight, a time of day the other's date, and an
// instant without a zone the other's.
func align(a, b Parts) (Parts, Parts) {
	if a.HasDate != b.HasDate {
		if a.HasDate {
			b.Date, b.HasDate = a.Date, true
		} else {
			a.Date, a.HasDate = b.Date, true
		}
	}
	if a.HasZone != b.HasZone {
		if a.HasZone {
			b.Zone, b.Offset, b.HasZone = a.Zone, anyOffset, true
		} else {
			a.Zone, a.Offset, a.HasZone = b.Zone, anyOffset, true
		}
	}
	return a, b
}

// instant is where aligned parts lie on the time line, or on the clock if they have no zone.
func (p Parts) instant() LocalDateTime {
	if !p.HasZone {
		return p.local()
	}
	t := p.dateTime()
	return LocalDateTime{Sec: t.Sec, Nano: t.Nano}
}

// localIn reads aligned parts on the clock of the first instant's zone, by which months and days are counted.
func (p Parts) localIn(first Parts) LocalDateTime {
	if !p.HasZone {
		return p.local()
	}
	return p.dateTime().In(first.Zone).Local()
}

// wholeDays returns the dates between which whole days lie, without a last one that is not full.
func wholeDays(a, b LocalDateTime) (from, to Date) {
	from, to = a.Date(), b.Date()
	switch {
	case to > from && b.Clock() < a.Clock():
		to--
	case to < from && b.Clock() > a.Clock():
		to++
	}
	return from, to
}

func monthsBetween(a, b LocalDateTime) int64 {
	from, to := wholeDays(a, b)
	y1, m1, d1 := from.ymd()
	y2, m2, d2 := to.ymd()
	// A month counts 32 days here, so that only whole months make a difference of 32.
	return ((y2*12+m2)*32 + d2 - (y1*12+m1)*32 - d1) / 32
}

func daysBetween(a, b LocalDateTime) int64 {
	from, to := wholeDays(a, b)
	return int64(to - from)
}

func secondsBetween(a, b LocalDateTime) (Duration, error) {
	return makeDuration(0, 0, b.Sec-a.Sec, int64(b.Nano)-int64(a.Nano))
}

// Between returns the duration from one instant to another in months, then days, then seconds. If either has no date, it returns
// only seconds.
func Between(from, to Parts) (Duration, error) {
	dated := from.HasDate && to.HasDate
	from, to = align(from, to)
	if !dated {
		return secondsBetween(from.instant(), to.instant())
	}
	end := to.localIn(from)
	months := monthsBetween(from.local(), end)
	local, err := from.local().addDate(months, 0)
	if err != nil {
		return Duration{}, err
	}
	days := daysBetween(local, end)
	if local, err = local.addDate(0, days); err != nil {
		return Duration{}, err
	}
	if months != 0 || days != 0 {
		from.Date, from.Clock = local.Date(), local.Clock()
	}
	d, err := secondsBetween(from.instant(), to.instant())
	d.Months, d.Days = months, days
	return d, err
}

// InMonths returns the whole months from one instant to another, 0 if one has no date.
func InMonths(from, to Parts) (Duration, error) {
	if !from.HasDate || !to.HasDate {
		return Duration{}, nil
	}
	from, to = align(from, to)
	return Duration{Months: monthsBetween(from.local(), to.localIn(from))}, nil
}

// InDays returns the whole days from one instant to another, 0 if one has no date.
func InDays(from, to Parts) (Duration, error) {
	if !from.HasDate || !to.HasDate {
		return Duration{}, nil
	}
	from, to = align(from, to)
	return Duration{Days: daysBetween(from.local(), to.localIn(from))}, nil
}

// InSeconds returns the seconds from one instant to another.
func InSeconds(from, to Parts) (Duration, error) {
	from, to = align(from, to)
	return secondsBetween(from.instant(), to.instant())
}
