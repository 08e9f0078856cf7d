package temporal

// Parts are the components of any instant: date, time of day and zone, as far as it has them.
type Parts struct {
	HasDate, HasClock, HasZone bool

	Date   Date
	Clock  LocalTime
	Zone   Zone
	Offset int32 // the offset in the zone at that instant
}

// Parts returns the date.
func (d Date) Parts() Parts { return Parts{HasDate: true, Date: d} }

// Parts returns the time of day.
func (t LocalTime) Parts() Parts { return Parts{HasClock: true, Clock: t} }

// Parts returns the time of day and the offset.
func (t Time) Parts() Parts {
	return Parts{HasClock: true, HasZone: true, Clock: t.Local, Zone: Zone{Offset: t.Offset}, Offset: t.Offset}
}

// Parts returns the date and the time of day.
func (t LocalDateTime) Parts() Parts {
	return Parts{HasDate: true, HasClock: true, Date: t.Date(), Clock: t.Clock()}
}

// Parts returns the date, the time of day and the zone.
func (t DateTime) Parts() Parts {
	p := t.Local().Parts()
	p.HasZone, p.Zone, p.Offset = true, t.inZone(), t.Offset
	return p
}

// local combines the date and the time of day; missing parts are zero.
func (p Parts) local() LocalDateTime { return MakeLocalDateTime(p.Date, p.Clock) }

// dateTime combines all parts.
func (p Parts) dateTime() DateTime { return p.local().in(p.Zone, p.Offset) }
