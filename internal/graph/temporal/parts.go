package temporal

// Parts is any instant taken apart: what it has of a date, a time of day and a zone.
type Parts struct {
	HasDate, HasClock, HasZone bool

	Date   Date
	Clock  LocalTime
	Zone   Zone
	Offset int32 // the offset in the zone at that instant
}

// Parts gives the date.
func (d Date) Parts() Parts { return Parts{HasDate: true, Date: d} }

// Parts gives the time of day.
func (t LocalTime) Parts() Parts { return Parts{HasClock: true, Clock: t} }

// Parts gives the time of day and the offset.
func (t Time) Parts() Parts {
	return Parts{HasClock: true, HasZone: true, Clock: t.Local, Zone: Zone{Offset: t.Offset}, Offset: t.Offset}
}

// Parts gives the date and the time of day.
func (t LocalDateTime) Parts() Parts {
	return Parts{HasDate: true, HasClock: true, Date: t.Date(), Clock: t.Clock()}
}

// Parts gives the date, the time of day and the zone.
func (t DateTime) Parts() Parts {
	p := t.Local().Parts()
	p.HasZone, p.Zone, p.Offset = true, t.inZone(), t.Offset
	return p
}

// local joins the date and the time of day; what is missing is zero.
func (p Parts) local() LocalDateTime { return MakeLocalDateTime(p.Date, p.Clock) }

// dateTime joins all parts.
func (p Parts) dateTime() DateTime { return p.local().in(p.Zone, p.Offset) }
