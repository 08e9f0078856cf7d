package temporal

import (
	"math"
	"testing"
)

func mustDuration(t *testing.T, text string) Duration {
	t.Helper()
	d, err := ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestScale(t *testing.T) {
	for _, c := range []struct {
		text string
		by   float64
		want string
	}{
		{"P12Y5M14DT16H13M10.000000001S", 0.5, "P6Y2M22DT13H21M8S"},
		{"P10D", 0.3, "P3D"},
		{"P10D", 0.1, "P1D"},
		{"PT10S", 1e-9, "PT0.00000001S"},
		{"P1Y", -1.5, "P-1Y-6M"},
		{"P1M", -0.5, "P-15DT-5H-14M-33S"},
		{"PT1S", 1.0 / 3, "PT0.333333333S"},
		{"P1DT1S", 0, "PT0S"},
	} {
		if d, err := mustDuration(t, c.text).Mul(c.by); err != nil || d.String() != c.want {
			t.Errorf("%s * %v = %s, %v, want %s", c.text, c.by, d, err, c.want)
		}
	}
	for _, c := range []struct {
		text string
		by   float64
		want string
	}{
		{"PT1S", 3, "PT0.333333333S"}, {"P10D", 0.1, "P100D"}, {"P1M", 2, "P15DT5H14M33S"}, {"PT-1S", 3, "PT-0.333333333S"},
	} {
		if d, err := mustDuration(t, c.text).Div(c.by); err != nil || d.String() != c.want {
			t.Errorf("%s / %v = %s, %v, want %s", c.text, c.by, d, err, c.want)
		}
	}
	day := Duration{Days: 1}
	for _, f := range []float64{math.NaN(), math.Inf(1), 1e300} {
		if d, err := day.Mul(f); err == nil {
			t.Errorf("a day * %v = %s", f, d)
		}
	}
	if _, err := day.Div(0); err == nil {
		t.Error("division by zero")
	}
	if _, err := (Duration{Days: math.MinInt64}).Negate(); err == nil {
		t.Error("the least number of days negated")
	}
	if _, err := (Duration{Seconds: math.MaxInt64}).Add(Duration{Seconds: 1}); err == nil {
		t.Error("too many seconds")
	}
}

func TestCompareDurations(t *testing.T) {
	// Each is shorter than the next.
	texts := []string{
		"P-1Y", "P-1D", "PT-1S", "PT-0.000000001S", "PT0S", "PT0.000000001S", "PT24H", "P1D", "PT24H0.000000001S", "P30D", "P1M", "P31D",
		"P12M", "P366D",
	}
	for i, a := range texts {
		for j, b := range texts {
			c := mustDuration(t, a).Compare(mustDuration(t, b))
			if (c < 0) != (i < j) || (c > 0) != (i > j) {
				t.Errorf("%s against %s: %d", a, b, c)
			}
		}
	}
	far := Duration{Months: math.MaxInt64, Days: math.MaxInt64, Seconds: math.MaxInt64}
	near := Duration{Months: math.MinInt64, Days: math.MinInt64, Seconds: math.MinInt64}
	if far.Compare(near) <= 0 || near.Compare(far) >= 0 {
		t.Error("the extremes are out of order")
	}
}

func TestBetween(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"2024-01-31T00:00Z", "2024-02-29T00:00Z", "P29D"},
		{"2024-01-31T00:00Z", "2024-03-01T00:00Z", "P1M1D"},
		{"2024-03-01T00:00Z", "2024-01-31T00:00Z", "P-1M-1D"},
		{"2017-10-29T00:00+02:00[Europe/Stockholm]", "2017-10-30T00:00+01:00[Europe/Stockholm]", "P1D"},
		{"2017-10-29T00:00+02:00[Europe/Stockholm]", "2017-10-29T23:00Z", "P1D"},
		{"2024-01-01T00:00Z", "2024-01-01T00:00+01:00", "PT-1H"},
	} {
		from, err1 := ParseDateTime(c.from, UTC)
		to, err2 := ParseDateTime(c.to, UTC)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if d, err := Between(from.Parts(), to.Parts()); err != nil || d.String() != c.want {
			t.Errorf("%s to %s is %s, %v, want %s", c.from, c.to, d, err, c.want)
		}
	}
}

// TestFieldErrors builds instants from incompatible fields.
func TestFieldErrors(t *testing.T) {
	set := func(fields ...any) *Fields {
		f := new(Fields)
		for i := 0; i < len(fields); i += 2 {
			f.Set(fields[i].(Field), int64(fields[i+1].(int)))
		}
		return f
	}
	for name, f := range map[string]*Fields{
		"no year": set(Month, 1), "no month": set(Year, 2024, Day, 1), "no week": set(Year, 2024, DayOfWeek, 1),
		"no quarter": set(Year, 2024, DayOfQuarter, 1), "week and month": set(Year, 2024, Week, 1, Month, 1),
		"ordinal and month": set(Year, 2024, OrdinalDay, 1, Month, 1), "quarter and week": set(Year, 2024, Quarter, 1, Week, 1),
		"an hour": set(Year, 2024, Hour, 1), "day 30 of February": set(Year, 2024, Month, 2, Day, 30), "month 13": set(Year, 2024, Month, 13),
		"week 53": set(Year, 2024, Week, 53), "far year": set(Year, 1_000_000_000), "epoch": set(EpochSeconds, 1),
	} {
		if d, err := f.MakeDate(); err == nil {
			t.Errorf("%s: %s", name, d)
		}
	}
	for name, f := range map[string]*Fields{
		"nothing": set(), "no hour": set(Minute, 1), "no minute": set(Hour, 1, Second, 1), "no second": set(Hour, 1, Minute, 1, Millisecond, 1),
		"hour 24": set(Hour, 24), "a year": set(Year, 2024, Hour, 1), "1000 ms": set(Hour, 1, Minute, 1, Second, 1, Millisecond, 1000),
		"1000 µs beside ms": set(Hour, 1, Minute, 1, Second, 1, Millisecond, 1, Microsecond, 1000),
		"1000 ns beside µs": set(Hour, 1, Minute, 1, Second, 1, Microsecond, 1, Nanosecond, 1000),
	} {
		if v, err := f.MakeLocalTime(); err == nil {
			t.Errorf("%s: %s", name, v)
		}
	}
	for name, f := range map[string]*Fields{
		"two epochs": set(EpochSeconds, 1, EpochMillis, 1), "epoch and year": set(EpochSeconds, 1, Year, 2024),
		"epoch millis and millis": set(EpochMillis, 1, Millisecond, 1),
	} {
		if v, err := f.MakeDateTime(UTC); err == nil {
			t.Errorf("%s: %s", name, v)
		}
	}
	v, err := set(EpochMillis, -1, Nanosecond, 5).MakeDateTime(mustZone(t, "+01:00"))
	if err != nil || v.String() != "1970-01-01T00:59:59.999000005+01:00" {
		t.Errorf("%s, %v", v, err)
	}
}
