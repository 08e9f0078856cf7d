package naive

import (
	"fmt"
	"strings"
	"time"
)

// Date is a day in the calendar, as the midnight in UTC at which it begins.
type Date struct{ time.Time }

// LocalTime is a date and a time of day without a zone, as if it were in UTC.
type LocalTime struct{ time.Time }

// Duration is a duration. Its components are not converted into each other.
type Duration struct{ Months, Days, Seconds int64 }

// String writes the span as ISO 8601 has it.
func (d Duration) String() string {
	var b strings.Builder
	part := func(n int64, unit string) {
		if n != 0 {
			fmt.Fprint(&b, n, unit)
		}
	}
	b.WriteString("P")
	part(d.Months/12, "Y")
	part(d.Months%12, "M")
	part(d.Days, "D")
	if d.Seconds != 0 || b.Len() == 1 {
		b.WriteString("T")
		part(d.Seconds/3600, "H")
		part(d.Seconds/60%60, "M")
		if part(d.Seconds%60, "S"); b.Len() == 2 {
			b.WriteString("0S")
		}
	}
	return b.String()
}

// String writes the time as ISO 8601 has it.
func (t LocalTime) String() string { return t.Format("2006-01-02T15:04:05") }

// later adds months, then days, then seconds. A day beyond the end of a month becomes its last day.
func later(t time.Time, d Duration, sign int64) time.Time {
	first := time.Date(t.Year(), t.Month()+time.Month(sign*d.Months), 1, t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1+int(sign*d.Days)).Add(time.Duration(sign*d.Seconds) * time.Second)
}

// partOf returns a component of a date or time.
func partOf(t time.Time, name string) (int64, bool) {
	year, week := t.ISOWeek()
	switch name {
	case "year":
		return int64(t.Year()), true
	case "quarter":
		return int64(t.Month()+2) / 3, true
	case "month":
		return int64(t.Month()), true
	case "week":
		return int64(week), true
	case "weekYear":
		return int64(year), true
	case "day":
		return int64(t.Day()), true
	case "ordinalDay":
		return int64(t.YearDay()), true
	case "dayOfWeek":
		return int64(t.Weekday()+6)%7 + 1, true
	}
	return 0, false
}

func durationOf(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		unknown(v)
	}
	var d Duration
	for name, n := range m {
		n, ok := n.(int64)
		if !ok {
			unknown(v)
		}
		switch name {
		case "months":
			d.Months += n
		case "weeks":
			d.Days += 7 * n
		case "days":
			d.Days += n
		case "hours":
			d.Seconds += 3600 * n
		case "minutes":
			d.Seconds += 60 * n
		default:
			unknown(v)
		}
	}
	return d
}

func dateOf(v any) any {
	switch v := v.(type) {
	case Date:
		return v
	case LocalTime:
		return Date{v.Truncate(24 * time.Hour)}
	case string:
		t, err := time.Parse(time.DateOnly, v)
		if err != nil {
			fail("not a date: %s", v)
		}
		return Date{t}
	case map[string]any:
		y, ok := v["year"].(int64)
		m, ok2 := v["month"].(int64)
		d, ok3 := v["day"].(int64)
		if ok && ok2 && ok3 && len(v) == 3 {
			t := time.Date(int(y), time.Month(m), int(d), 0, 0, 0, 0, time.UTC)
			if int64(t.Month()) != m || int64(t.Day()) != d {
				fail("no such day: %d-%d-%d", y, m, d)
			}
			return Date{t}
		}
	}
	unknown(v)
	return nil
}

func localTimeOf(v any) any {
	switch v := v.(type) {
	case LocalTime:
		return v
	case string:
		t, err := time.Parse("2006-01-02T15:04", v)
		if err != nil {
			fail("not a local date time: %s", v)
		}
		return LocalTime{t}
	}
	unknown(v)
	return nil
}

// temporalSum is a + sign*b where one is a duration; nil if neither is.
func temporalSum(a, b any, sign int64) any {
	d, ok := b.(Duration)
	if !ok {
		if d, ok = a.(Duration); ok && sign > 0 {
			return temporalSum(b, d, sign)
		}
		return nil
	}
	switch a := a.(type) {
	case Date:
		if d.Seconds != 0 {
			unknown(d)
		}
		return Date{later(a.Time, d, sign)}
	case LocalTime:
		return LocalTime{later(a.Time, d, sign)}
	case Duration:
		return Duration{a.Months + sign*d.Months, a.Days + sign*d.Days, a.Seconds + sign*d.Seconds}
	}
	return nil
}
