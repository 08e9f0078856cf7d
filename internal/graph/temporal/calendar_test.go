package temporal

import (
	"testing"
	"time"
)

// TestCalendarAgreesWithTime compares every few days of 4,000 years with the standard library.
func TestCalendarAgreesWithTime(t *testing.T) {
	for n := int64(-1_100_000); n < 400_000; n += 17 {
		d := Date(n)
		want := time.Unix(n*secondsPerDay, 0).UTC()
		y, m, day := d.ymd()
		if int(y) != want.Year() || int(m) != int(want.Month()) || int(day) != want.Day() {
			t.Fatalf("day %d: %d-%d-%d, want %s", n, y, m, day, want)
		}
		if MakeDate(y, m, day) != d {
			t.Fatalf("%s does not come back", d)
		}
		wy, w := d.week()
		if iy, iw := want.ISOWeek(); int(wy) != iy || int(w) != iw {
			t.Fatalf("%s: week %d of %d, want %d of %d", d, w, wy, iw, iy)
		}
		if int(d.ordinalDay()) != want.YearDay() || int(d.weekday())%7 != int(want.Weekday()) {
			t.Fatalf("%s: day %d of the year, %d of the week", d, d.ordinalDay(), d.weekday())
		}
		if back, err := dateOfQuarter(y, d.quarter(), d.dayOfQuarter()); err != nil || back != d {
			t.Fatalf("%s: quarter %d, day %d: %v", d, d.quarter(), d.dayOfQuarter(), err)
		}
		if back, err := dateOfWeek(wy, w, d.weekday()); err != nil || back != d {
			t.Fatalf("%s: week date comes back as %s, %v", d, back, err)
		}
	}
}

func TestYearsFarAway(t *testing.T) {
	for _, text := range []string{"-999999999-01-01", "+999999999-12-31", "-0001-02-28", "0000-02-29", "+10000-01-01"} {
		d, err := ParseDate(text)
		if err != nil || d.String() != text {
			t.Errorf("%s: %s, %v", text, d, err)
		}
	}
	if _, err := maxDate.addDays(1); err == nil {
		t.Error("a day after the last one")
	}
	if _, err := minDate.addMonths(-1); err == nil {
		t.Error("a month before the first one")
	}
	if _, err := maxDate.Add(Duration{Months: 1 << 62}); err == nil {
		t.Error("a date plus ever so many months")
	}
	stockholm := mustZone(t, "Europe/Stockholm")
	for text, want := range map[string]string{
		"-999999999-01-02T00:00": "-999999999-01-02T00:00:00+00:53:28[Europe/Stockholm]",
		"+999999999-07-01T12:00": "+999999999-07-01T12:00:00+02:00[Europe/Stockholm]",
	} {
		dt, err := ParseDateTime(text, stockholm)
		if err != nil || dt.String() != want {
			t.Errorf("%s: %s, %v", text, dt, err)
		}
	}
}

func mustZone(t testing.TB, name string) Zone {
	t.Helper()
	z, err := ParseZone(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// TestZones reads clocks around the hours that Stockholm skips in spring and repeats in autumn.
func TestZones(t *testing.T) {
	z := mustZone(t, "Europe/Stockholm")
	for _, c := range []struct{ text, want string }{
		{"2017-03-26T01:59:59", "2017-03-26T01:59:59+01:00[Europe/Stockholm]"},
		{"2017-03-26T02:00", "2017-03-26T03:00:00+02:00[Europe/Stockholm]"},
		{"2017-03-26T02:30", "2017-03-26T03:30:00+02:00[Europe/Stockholm]"},
		{"2017-03-26T03:00", "2017-03-26T03:00:00+02:00[Europe/Stockholm]"},
		{"2017-10-29T01:59", "2017-10-29T01:59:00+02:00[Europe/Stockholm]"},
		{"2017-10-29T02:30", "2017-10-29T02:30:00+02:00[Europe/Stockholm]"},
		{"2017-10-29T03:00", "2017-10-29T03:00:00+01:00[Europe/Stockholm]"},
		{"2017-10-29T02:30:00+01:00[Europe/Stockholm]", "2017-10-29T02:30:00+01:00[Europe/Stockholm]"},
		{"2017-10-29T02:30:00+02:00[Europe/Stockholm]", "2017-10-29T02:30:00+02:00[Europe/Stockholm]"},
		{"2017-10-29T00:30:00Z", "2017-10-29T00:30:00Z"},
		{"1818-07-21T21:40:32.142", "1818-07-21T21:40:32.142+00:53:28[Europe/Stockholm]"},
		{"1818-07-21T12:00:00[Europe/Oslo]", "1818-07-21T12:00:00+00:53:28[Europe/Oslo]"},
		{"2024-01-01T00:00:00[America/New York]", "2024-01-01T00:00:00-05:00[America/New_York]"},
	} {
		dt, err := ParseDateTime(c.text, z)
		if err != nil || dt.String() != c.want {
			t.Errorf("%s: %s, %v, want %s", c.text, dt, err, c.want)
		}
	}
	for _, text := range []string{
		"2017-10-28T02:30+01:00[Europe/Stockholm]", "2017-03-26T02:30+01:00[Europe/Stockholm]",
		"2017-03-26T02:30[Europe/Nowhere]", "2017-03-26T02:30[Local]", "2017-03-26T02:30[../zone]", "2017-03-26T02:30[]",
		"2017-03-26T02:30+19:00", "2017-03-26T02:30+02:60", "2017-03-26T02:30+01:00[Europe/Stockholm", "2017-03-26T02:30 ",
	} {
		if dt, err := ParseDateTime(text, z); err == nil {
			t.Errorf("%s is taken as %s", text, dt)
		}
	}
}

// TestArithmetic moves instants by durations.
func TestArithmetic(t *testing.T) {
	for _, c := range []struct{ at, by, want string }{
		{"2024-01-31T00:00:00Z", "P1M", "2024-02-29T00:00:00Z"},
		{"2023-01-31T00:00:00Z", "P1M", "2023-02-28T00:00:00Z"},
		{"2024-02-29T00:00:00Z", "P1Y", "2025-02-28T00:00:00Z"},
		{"2024-03-31T00:00:00Z", "P-1M", "2024-02-29T00:00:00Z"},
		{"2024-01-31T00:00:00Z", "P1M1D", "2024-03-01T00:00:00Z"},
		{"2024-01-01T00:00:00Z", "PT-0.000000001S", "2023-12-31T23:59:59.999999999Z"},
		{"2017-03-25T02:30:00+01:00[Europe/Stockholm]", "P1D", "2017-03-26T03:30:00+02:00[Europe/Stockholm]"},
		{"2017-03-25T02:30:00+01:00[Europe/Stockholm]", "PT24H", "2017-03-26T03:30:00+02:00[Europe/Stockholm]"},
		{"2017-10-28T12:00:00+02:00[Europe/Stockholm]", "P1D", "2017-10-29T12:00:00+01:00[Europe/Stockholm]"},
		{"2017-10-28T12:00:00+02:00[Europe/Stockholm]", "PT24H", "2017-10-29T11:00:00+01:00[Europe/Stockholm]"},
	} {
		at, err1 := ParseDateTime(c.at, UTC)
		by, err2 := ParseDuration(c.by)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if got, err := at.Add(by); err != nil || got.String() != c.want {
			t.Errorf("%s + %s = %s, %v, want %s", c.at, c.by, got, err, c.want)
		}
	}
}
