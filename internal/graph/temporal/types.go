package temporal

import "time"

// Date is a day of the proleptic Gregorian calendar, counted from 1970-01-01.
type Date int64

// LocalTime is a time of day without a zone, in nanoseconds from midnight.
type LocalTime int64

// Time is a time of day with an offset from UTC.
type Time struct {
	Local  LocalTime // the time on the clock at that offset
	Offset int32     // seconds east of UTC
}

// LocalDateTime is a date and a time of day without a zone: the seconds and nanoseconds since 1970-01-01T00:00 on that
// clock.
type LocalDateTime struct {
	Sec  int64
	Nano int32
}

// DateTime is an instant with an offset or a named zone.
type DateTime struct {
	Sec    int64          // seconds since the epoch, in UTC
	Nano   int32          // nanoseconds within the second
	Offset int32          // seconds east of UTC
	Zone   *time.Location // the named zone, or nil for a bare offset
}

// Duration is an openCypher duration: its groups do not convert into one another.
type Duration struct {
	Months, Days, Seconds int64
	Nanos                 int32 // 0 to 999,999,999
}
