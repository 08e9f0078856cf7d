package fn

import (
	"strconv"
	"strings"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
)

// sqlTimeFunctions are SQL's functions of dates and times, which may be texts.
var sqlTimeFunctions = []Function{
	sqlFunction("date_format", 2, 2, func(_ *Context, args []graph.Value) graph.Value {
		t, ok := sqlTime(args[0])
		if !ok {
			return null
		}
		return text(formatTime(t, sqlText(args[1])))
	}),
	timeText("date", "2006-01-02"), timeText("time", "15:04:05"),
	timeText("dayname", "Monday"), timeText("monthname", "January"),
	timePart("year", time.Time.Year), timePart("day", time.Time.Day), timePart("hour", time.Time.Hour),
	timePart("minute", time.Time.Minute), timePart("second", time.Time.Second), timePart("dayofyear", time.Time.YearDay),
	timePart("month", func(t time.Time) int { return int(t.Month()) }),
	timePart("quarter", func(t time.Time) int { return (int(t.Month()) + 2) / 3 }),
	timePart("dayofweek", func(t time.Time) int { return int(t.Weekday()) + 1 }),
	timePart("weekday", func(t time.Time) int { return (int(t.Weekday()) + 6) % 7 }),
	timePart("weekofyear", func(t time.Time) int { _, w := t.ISOWeek(); return w }),
	timePart("week", func(t time.Time) int { return (t.YearDay() + 6 - int(t.Weekday())) / 7 }),
	timePart("to_days", func(t time.Time) int { return days(t) + 719528 }),
	sqlFunction("last_day", 1, 1, func(_ *Context, args []graph.Value) graph.Value {
		t, ok := sqlTime(args[0])
		if !ok {
			return null
		}
		return text(time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC).Format("2006-01-02"))
	}),
	sqlFunction("datediff", 2, 2, func(_ *Context, args []graph.Value) graph.Value {
		a, ok := sqlTime(args[0])
		b, ok2 := sqlTime(args[1])
		if !ok || !ok2 {
			return null
		}
		return graph.IntValue(int64(days(a) - days(b)))
	}),
	sqlFunction("unix_timestamp", 0, 1, func(ctx *Context, args []graph.Value) graph.Value {
		if len(args) == 0 {
			return graph.IntValue(ctx.Statement.Unix())
		}
		t, ok := sqlTime(args[0])
		if !ok {
			return null
		}
		return graph.IntValue(t.Unix())
	}),
	sqlFunction("from_unixtime", 1, 1, func(_ *Context, args []graph.Value) graph.Value {
		return text(time.Unix(sqlInt(args[0]), 0).UTC().Format("2006-01-02 15:04:05"))
	}),
	present("now", "2006-01-02 15:04:05"), present("curdate", "2006-01-02"), present("curtime", "15:04:05"),
}

func present(name, layout string) Function {
	f := sqlFunction(name, 0, 0, func(ctx *Context, _ []graph.Value) graph.Value {
		zone := ctx.Zone
		if zone == nil {
			zone = time.UTC
		}
		return text(ctx.Statement.In(zone).Format(layout))
	})
	f.Deterministic = false
	return f
}

func timeText(name, layout string) Function {
	return sqlFunction(name, 1, 1, func(_ *Context, args []graph.Value) graph.Value {
		t, ok := sqlTime(args[0])
		if !ok {
			return null
		}
		return text(t.Format(layout))
	})
}

func timePart(name string, part func(time.Time) int) Function {
	return sqlFunction(name, 1, 1, func(_ *Context, args []graph.Value) graph.Value {
		t, ok := sqlTime(args[0])
		if !ok {
			return null
		}
		return graph.IntValue(int64(part(t)))
	})
}

// days counts from 1970-01-01.
func days(t time.Time) int {
	return int(time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC).Unix() / 86400)
}

// sqlTime reads a date or a time, of a text in SQL's forms or ISO 8601's.
func sqlTime(v graph.Value) (time.Time, bool) {
	switch v.Kind() {
	case graph.Date, graph.LocalDateTime, graph.DateTime, graph.LocalTime, graph.Time:
		return sqlTime(text(string(graph.AppendTemporal(nil, v))))
	case graph.Int:
		return sqlTime(text(strconv.FormatInt(v.Int(), 10)))
	case graph.String:
	default:
		return time.Time{}, false
	}
	s := strings.Replace(strings.TrimSpace(v.Str()), "T", " ", 1)
	if i := strings.IndexByte(s, '.'); i > 0 {
		s = s[:i]
	}
	if i := strings.IndexAny(s, "Z+["); i > 0 {
		s = s[:i]
	}
	for _, layout := range [...]string{
		"2006-01-02 15:04:05", "2006-01-02", "2006-01-02 15:04", "15:04:05", "20060102150405", "20060102", "2006-1-2 15:4:5", "2006-1-2",
	} {
		if len(layout) != len(s) && !strings.Contains(layout, "-1-") {
			continue
		}
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// formatTime writes a time by a format of MySQL's date_format.
func formatTime(t time.Time, format string) string {
	b := make([]byte, 0, 32)
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b = append(b, format[i])
			continue
		}
		i++
		switch c := format[i]; c {
		case 'U', 'u':
			b = append(b, twoDigits((t.YearDay()+6-int(t.Weekday()))/7)...)
		case 'w':
			b = strconv.AppendInt(b, int64(t.Weekday()), 10)
		case 'j':
			b = t.AppendFormat(b, "002")
		case 'v':
			_, w := t.ISOWeek()
			b = append(b, twoDigits(w)...)
		case 'k':
			b = strconv.AppendInt(b, int64(t.Hour()), 10)
		case 'D':
			b = strconv.AppendInt(b, int64(t.Day()), 10)
			b = append(b, ordinal(t.Day())...)
		default:
			if layout, ok := timeLayouts[c]; ok {
				b = t.AppendFormat(b, layout)
			} else {
				b = append(b, c)
			}
		}
	}
	return string(b)
}

var timeLayouts = map[byte]string{
	'Y': "2006", 'y': "06", 'm': "01", 'c': "1", 'd': "02", 'e': "2", 'H': "15", 'h': "03", 'I': "03", 'l': "3", 'i': "04",
	's': "05", 'S': "05", 'f': "000000", 'p': "PM", 'M': "January", 'b': "Jan", 'W': "Monday", 'a': "Mon", 'T': "15:04:05", 'r': "03:04:05 PM",
}

func twoDigits(i int) string {
	s := strconv.Itoa(i)
	if len(s) < 2 {
		s = "0" + s
	}
	return s
}

func ordinal(day int) string {
	if day/10 == 1 {
		return "th"
	}
	switch day % 10 {
	case 1:
		return "st"
	case 2:
		return "nd"
	case 3:
		return "rd"
	}
	return "th"
}
