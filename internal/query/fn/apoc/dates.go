package apoc

import (
	"math/big"
	"strings"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/query/fn"
)

const (
	dateFormat = "yyyy-MM-dd HH:mm:ss"
	isoMillis  = "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"
)

var dateFunctions = []fn.Function{
	loose("apoc.date.convertFormat(temporal :: STRING, currentFormat :: STRING [, convertTo :: STRING]) :: STRING",
		"The text of an instant in another format: a pattern of Java's DateTimeFormatter, or the name of one, such as iso_zoned_date_time.", convertFormat),
	strict("apoc.date.format(time :: INTEGER [, unit :: STRING, format :: STRING, timezone :: STRING]) :: STRING",
		"The text of a time since 1970 in a unit (ms, s, m, h or d), by a pattern of Java's DateTimeFormatter or the name of one.", formatDate),
	strict("apoc.date.parse(time :: STRING [, unit :: STRING, format :: STRING, timezone :: STRING]) :: INTEGER",
		"The time since 1970 in a unit (ms, s, m, h or d) that a text says, by a pattern of Java's DateTimeFormatter or the name of one.", parseDate),
	strict("apoc.date.convert(time :: INTEGER, unit :: STRING, toUnit :: STRING) :: INTEGER", "A time in another unit, without a fraction.", func(c *call) (graph.Value, error) {
		n, err := c.convert(c.int(0), 1, 2)
		return graph.IntValue(n), err
	}),
	strict("apoc.date.add(time :: INTEGER, unit :: STRING, addValue :: INTEGER, addUnit :: STRING) :: INTEGER", "A time in a unit, later by another time.", func(c *call) (graph.Value, error) {
		n, err := c.convert(c.int(2), 3, 1)
		if err != nil {
			return null, err
		}
		return fn.Add(c.args[0], graph.IntValue(n))
	}),
	strict("apoc.date.field(time :: INTEGER [, unit :: STRING, timezone :: STRING]) :: INTEGER", "A field (year, month, d, w, h, m, s, ms) of a time in milliseconds since 1970.", dateField),
	loose("apoc.date.fields(date :: STRING [, pattern :: STRING]) :: MAP", "The fields of an instant that a text says.", dateFields),
	volatile(strict("apoc.date.currentTimestamp() :: INTEGER", "The milliseconds since 1970.", func(*call) (graph.Value, error) {
		return graph.IntValue(time.Now().UnixMilli()), nil
	})),
	strict("apoc.date.fromISO8601(time :: STRING) :: INTEGER", "The milliseconds since 1970 that a text such as 2024-02-29T12:31:14Z says.", func(c *call) (graph.Value, error) {
		return c.since(c.text(0), "iso_instant", "ms", temporal.UTC)
	}),
	strict("apoc.date.toISO8601(time :: INTEGER [, unit :: STRING]) :: STRING", "The text of a time since 1970 in UTC, such as 2024-02-29T12:31:14.000Z.",
		func(c *call) (graph.Value, error) { return c.formatted(c.int(0), c.textOr(1, "ms"), isoMillis, "") }),
	loose("apoc.date.systemTimezone() :: STRING", "The time zone of the server's dates.", func(c *call) (graph.Value, error) {
		if c.Zone == nil {
			return text("UTC"), nil
		}
		return text(c.Zone.String()), nil
	}),
	strict("apoc.temporal.format(temporal :: ANY [, format :: STRING]) :: STRING", "The text of an instant or a duration, by a pattern of Java's DateTimeFormatter or the name of one.", formatTemporal),
}

// faulty is the error of what package temporal refuses.
func faulty(v graph.Value, err error) (graph.Value, error) {
	if err != nil {
		return null, graph.TemporalError(err)
	}
	return v, nil
}

func convertFormat(c *call) (graph.Value, error) {
	if c.text(0) == "" || c.args[1].IsNull() {
		return null, nil
	}
	p, err := temporal.ParsePattern(c.text(0), temporal.NamedPattern(c.text(1)))
	if err != nil {
		return faulty(null, err)
	}
	s, err := p.Format(temporal.NamedPattern(c.textOr(2, "yyyy-MM-dd")))
	return faulty(text(s), err)
}

// unit returns the nanoseconds of a unit of time.
func (c *call) unit(name string) (int64, error) {
	switch strings.ToLower(name) {
	case "ms", "milli", "millis", "milliseconds":
		return 1e6, nil
	case "s", "second", "seconds":
		return 1e9, nil
	case "m", "minute", "minutes":
		return 60e9, nil
	case "h", "hour", "hours":
		return 3600e9, nil
	case "d", "day", "days":
		return 86400e9, nil
	}
	return 0, c.failed("the unit %q is not ms, s, m, h or d", name)
}

// convert converts a time from the unit in an argument to that in another one.
func (c *call) convert(n int64, from, to int) (int64, error) {
	a, err := c.unit(c.text(from))
	if err != nil {
		return 0, err
	}
	b, err := c.unit(c.text(to))
	if err != nil {
		return 0, err
	}
	return c.scaled(n, a, b)
}

// scaled returns n*a/b without its fraction.
func (c *call) scaled(n, a, b int64) (int64, error) {
	x := new(big.Int).Mul(big.NewInt(n), big.NewInt(a))
	if x.Quo(x, big.NewInt(b)); !x.IsInt64() {
		return 0, c.failed("%v is beyond the range of an Integer", x)
	}
	return x.Int64(), nil
}

// zone returns the zone of a name; none is UTC.
func zone(name string) (temporal.Zone, error) {
	if name == "" {
		return temporal.UTC, nil
	}
	z, err := temporal.ParseZone(name)
	if err != nil {
		return z, graph.TemporalError(err)
	}
	return z, nil
}

// instant returns a time since 1970 on the clocks of a zone.
func (c *call) instant(n int64, unit, zoneName string) (temporal.DateTime, error) {
	nanos, err := c.unit(unit)
	if err != nil {
		return temporal.DateTime{}, err
	}
	ms, err := c.scaled(n, nanos, 1e6)
	if err != nil {
		return temporal.DateTime{}, err
	}
	z, err := zone(zoneName)
	if err != nil {
		return temporal.DateTime{}, err
	}
	t, err := temporal.FromEpochMillis(ms, z)
	if err != nil {
		return t, graph.TemporalError(err)
	}
	return t, nil
}

func (c *call) formatted(n int64, unit, pattern, zoneName string) (graph.Value, error) {
	t, err := c.instant(n, unit, zoneName)
	if err != nil {
		return null, err
	}
	s, err := t.Parts().Format(temporal.NamedPattern(pattern))
	return faulty(text(s), err)
}

func formatDate(c *call) (graph.Value, error) {
	return c.formatted(c.int(0), c.textOr(1, "ms"), orDefault(c.textOr(2, "")), c.textOr(3, ""))
}

func orDefault(format string) string {
	if format == "" {
		return dateFormat
	}
	return format
}

func parseDate(c *call) (graph.Value, error) {
	if strings.TrimSpace(c.text(0)) == "" {
		return null, nil
	}
	z, err := zone(c.textOr(3, ""))
	if err != nil {
		return null, err
	}
	return c.since(c.text(0), orDefault(c.textOr(2, "")), c.textOr(1, "ms"), z)
}

// since parses a text as the time since 1970 in a unit. A text without a zone is in z, one without a date on 1970-01-01.
func (c *call) since(s, pattern, unit string, z temporal.Zone) (graph.Value, error) {
	p, err := temporal.ParsePattern(s, temporal.NamedPattern(pattern))
	if err != nil {
		return faulty(null, err)
	}
	p.HasDate, p.HasClock = true, true
	t, err := p.ToDateTime(z)
	if err != nil {
		return faulty(null, err)
	}
	nanos, err := c.unit(unit)
	if err != nil {
		return null, err
	}
	n := new(big.Int).Mul(big.NewInt(t.Sec), big.NewInt(1e9))
	n.Quo(n.Add(n, big.NewInt(int64(t.Nano))), big.NewInt(nanos))
	if !n.IsInt64() {
		return null, c.failed("%v is beyond the range of an Integer", n)
	}
	return graph.IntValue(n.Int64()), nil
}

// fields are the components of instants, by the names of units.
var fields = map[string]string{
	"ms": "millisecond", "milli": "millisecond", "millis": "millisecond", "milliseconds": "millisecond", "s": "second", "second": "second", "seconds": "second",
	"m": "minute", "minute": "minute", "minutes": "minute", "h": "hour", "hour": "hour", "hours": "hour", "d": "day", "day": "day", "days": "day",
	"w": "dayOfWeek", "weekday": "dayOfWeek", "weekdays": "dayOfWeek", "month": "month", "months": "month", "year": "year", "years": "year",
}

func dateField(c *call) (graph.Value, error) {
	t, err := c.instant(c.int(0), "ms", c.textOr(2, "UTC"))
	if err != nil {
		return null, err
	}
	name, ok := fields[strings.ToLower(c.textOr(1, "d"))]
	n, known := t.Parts().Component(name)
	if !ok || !known {
		return null, c.failed("there is no unit %q", c.textOr(1, "d"))
	}
	return graph.IntValue(n), nil
}

func dateFields(c *call) (graph.Value, error) {
	var out entries
	if c.args[0].IsNull() {
		return out.value(), nil
	}
	p, err := temporal.ParsePattern(c.text(0), temporal.NamedPattern(orDefault(c.textOr(1, ""))))
	if err != nil {
		return faulty(null, err)
	}
	for _, f := range [...]string{"years", "months", "weekdays", "days", "hours", "minutes", "seconds"} {
		if n, ok := p.Component(fields[f]); ok {
			out.set(f, graph.IntValue(n))
		}
	}
	id, ok := p.TextComponent("timezone")
	if !ok {
		id = "UTC"
	}
	out.set("zoneid", text(id))
	return out.value(), nil
}

func formatTemporal(c *call) (graph.Value, error) {
	v, pattern := c.args[0], temporal.NamedPattern(c.textOr(1, "yyyy-MM-dd"))
	var s string
	var err error
	switch v.Kind() {
	case graph.Date:
		s, err = v.Date().Parts().Format(pattern)
	case graph.LocalTime:
		s, err = v.LocalTime().Parts().Format(pattern)
	case graph.Time:
		s, err = v.Time().Parts().Format(pattern)
	case graph.LocalDateTime:
		s, err = v.LocalDateTime().Parts().Format(pattern)
	case graph.DateTime:
		s, err = v.DateTime().Parts().Format(pattern)
	case graph.Duration:
		s, err = v.Duration().Format(pattern)
	default:
		return null, graph.TypeError("InvalidArgumentValue", "%s() expects an instant or a duration, but got %s", c.name, notation.Describe(v))
	}
	return faulty(text(s), err)
}
