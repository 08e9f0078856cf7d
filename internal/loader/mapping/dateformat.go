package mapping

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
)

// dateFormat is a compiled SimpleDateFormat pattern of Java, such as "yyyy-MM-dd HH:mm:ss.SSS", or a count since the epoch (epochSeconds or
// epochMillis).
type dateFormat struct {
	steps []dateStep
	unit  int64 // of a count, in nanoseconds
}

// dateStep is a run of one pattern letter, or a literal.
type dateStep struct {
	letter  byte // or 0
	width   int
	literal string
}

var months = [...]string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}

func parseDateFormat(pattern string) (*dateFormat, error) {
	switch pattern {
	case "epochSeconds":
		return &dateFormat{unit: 1e9}, nil
	case "epochMillis", "timestamp":
		return &dateFormat{unit: 1e6}, nil
	}
	f := &dateFormat{}
	for i := 0; i < len(pattern); {
		c := pattern[i]
		if c == '\'' {
			end := strings.IndexByte(pattern[i+1:], '\'')
			if end < 0 {
				return nil, fmt.Errorf("a quote in the date format %q does not end", pattern)
			}
			text := pattern[i+1 : i+1+end]
			if text == "" {
				text = "'"
			}
			f.steps = append(f.steps, dateStep{literal: text})
			i += end + 2
			continue
		}
		n := 1
		for i+n < len(pattern) && pattern[i+n] == c {
			n++
		}
		switch {
		case strings.IndexByte("yuMdHhmsSaZXx", c) >= 0:
			f.steps = append(f.steps, dateStep{letter: c, width: n})
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			return nil, fmt.Errorf("the date format %q has the unknown letter %c", pattern, c)
		default:
			f.steps = append(f.steps, dateStep{literal: pattern[i : i+n]})
		}
		i += n
	}
	if len(f.steps) == 0 {
		return nil, errors.New("the date format is empty")
	}
	return f, nil
}

// clock holds the fields parsed from text.
type clock struct {
	year, month, day, hour, minute, second, nano int64
	pm, half                                     bool
	offset                                       int32 // seconds east
	zoned                                        bool
}

// dated parses text by the format.
func (c *Conv) dated(b []byte) (v graph.Value, ok bool) {
	if c.format.unit != 0 {
		n, ok := parseInt(b)
		if !ok || n > 1<<53 || n < -1<<53 {
			return v, false
		}
		per := 1_000_000_000 / c.format.unit
		sec, nano := n/per, n%per*c.format.unit
		if nano < 0 {
			sec, nano = sec-1, nano+1e9
		}
		t, err := temporal.FromEpoch(sec, nano, c.zone)
		if err != nil {
			return v, false
		}
		return c.instant(t)
	}
	t, ok := c.format.parse(string(trim(b)))
	if !ok {
		return v, false
	}
	date := temporal.MakeDate(t.year, t.month, t.day)
	local := temporal.LocalTime(((t.hour*60+t.minute)*60+t.second)*1e9 + t.nano)
	switch c.Type.Kind {
	case graph.Date:
		return graph.DateValue(date), true
	case graph.LocalTime:
		return graph.LocalTimeValue(local), true
	case graph.LocalDateTime:
		return graph.LocalDateTimeValue(temporal.MakeLocalDateTime(date, local)), true
	}
	zone := c.zone
	if t.zoned {
		zone = temporal.Zone{Offset: t.offset}
	}
	return c.instant(temporal.MakeLocalDateTime(date, local).In(zone))
}

// instant converts an instant to a value of the type.
func (c *Conv) instant(t temporal.DateTime) (v graph.Value, ok bool) {
	local := t.Local()
	switch c.Type.Kind {
	case graph.Int:
		return graph.IntValue(t.Sec*1000 + int64(t.Nano)/1e6), true
	case graph.DateTime:
		return graph.DateTimeValue(t), true
	case graph.LocalDateTime:
		return graph.LocalDateTimeValue(local), true
	}
	switch c.Type.Kind {
	case graph.Date:
		return graph.DateValue(local.Date()), true
	case graph.LocalTime:
		return graph.LocalTimeValue(local.Clock()), true
	case graph.Time:
		return graph.TimeValue(temporal.Time{Local: local.Clock(), Offset: t.Offset}), true
	}
	return v, false
}

// parse parses text by the pattern.
func (f *dateFormat) parse(s string) (t clock, ok bool) {
	t = clock{year: 1970, month: 1, day: 1}
	for i, step := range f.steps {
		if step.letter == 0 {
			if s, ok = strings.CutPrefix(s, step.literal); !ok {
				return t, false
			}
			continue
		}
		// A number takes all following digits, unless another number follows directly.
		width := 19
		if i+1 < len(f.steps) && f.steps[i+1].letter != 0 {
			width = step.width
		}
		switch step.letter {
		case 'y', 'u':
			var n int
			t.year, n, s = number(s, width)
			if n == 0 {
				return t, false
			}
			if step.width == 2 && n == 2 {
				t.year += 2000
				if t.year > 2079 {
					t.year -= 100
				}
			}
			continue
		case 'M':
			if step.width < 3 {
				break
			}
			if s, ok = t.monthName(s); !ok {
				return t, false
			}
			continue
		case 'S':
			x, n, rest := number(s, min(width, 9))
			if n == 0 {
				return t, false
			}
			for ; n < 9; n++ {
				x *= 10
			}
			t.nano, s = x, rest
			continue
		case 'a':
			if len(s) < 2 || s[1]|0x20 != 'm' || s[0]|0x20 != 'a' && s[0]|0x20 != 'p' {
				return t, false
			}
			t.half, t.pm, s = true, s[0]|0x20 == 'p', s[2:]
			continue
		case 'Z', 'X', 'x':
			if t.offset, s, ok = zoneOffset(s); !ok {
				return t, false
			}
			t.zoned = true
			continue
		}
		x, n, rest := number(s, min(width, 2))
		if n == 0 {
			return t, false
		}
		s = rest
		switch step.letter {
		case 'M':
			t.month = x
		case 'd':
			t.day = x
		case 'H', 'h':
			t.hour = x
		case 'm':
			t.minute = x
		case 's':
			t.second = x
		}
	}
	if t.half {
		t.hour %= 12
		if t.pm {
			t.hour += 12
		}
	}
	return t, s == "" && t.valid()
}

func (t *clock) valid() bool {
	if t.month < 1 || t.month > 12 || t.day < 1 || t.hour > 23 || t.minute > 59 || t.second > 59 || t.year > 999999 {
		return false
	}
	return time.Date(int(t.year), time.Month(t.month), int(t.day), 0, 0, 0, 0, time.UTC).Day() == int(t.day)
}

func (t *clock) monthName(s string) (rest string, ok bool) {
	if len(s) < 3 {
		return s, false
	}
	for i, m := range months {
		if strings.EqualFold(s[:3], m) {
			full := time.Month(i + 1).String()
			if len(s) >= len(full) && strings.EqualFold(s[:len(full)], full) {
				s = s[len(full):]
			} else {
				s = s[3:]
			}
			t.month = int64(i) + 1
			return s, true
		}
	}
	return s, false
}

// number reads up to width digits.
func number(s string, width int) (x int64, n int, rest string) {
	for n < len(s) && n < width && s[n]-'0' <= 9 {
		x = x*10 + int64(s[n]-'0')
		n++
	}
	return x, n, s[n:]
}

// zoneOffset reads Z, +hh, +hhmm or +hh:mm.
func zoneOffset(s string) (offset int32, rest string, ok bool) {
	if strings.HasPrefix(s, "Z") {
		return 0, s[1:], true
	}
	if s == "" || s[0] != '+' && s[0] != '-' {
		return 0, s, false
	}
	h, n, rest := number(s[1:], 2)
	if n != 2 || h > 18 {
		return 0, s, false
	}
	rest = strings.TrimPrefix(rest, ":")
	m, n, rest := number(rest, 2)
	if n == 1 || m > 59 {
		return 0, s, false
	}
	offset = int32(h*3600 + m*60)
	if s[0] == '-' {
		offset = -offset
	}
	return offset, rest, true
}
