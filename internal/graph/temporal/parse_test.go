package temporal

import (
	"testing"
	"time"
)

var now = time.Unix(1_700_000_000, 0)

func TestParseDate(t *testing.T) {
	for text, want := range map[string]string{
		"2015-07-21": "2015-07-21", "20150721": "2015-07-21", "2015-07": "2015-07-01", "201507": "2015-07-01",
		"2015-7-3": "2015-07-03", "2015-W30-2": "2015-07-21", "2015W302": "2015-07-21", "2015-W30": "2015-07-20",
		"2015W30": "2015-07-20", "2015-202": "2015-07-21", "2015202": "2015-07-21", "2015": "2015-01-01",
		"2015-Q2-60": "2015-05-30", "2015Q260": "2015-05-30", "2015-Q4": "2015-10-01", "2015Q2": "2015-04-01",
		"2016-366": "2016-12-31", "2009-W53-7": "2010-01-03", "+2015-07-21": "2015-07-21", "-0044-03-15": "-0044-03-15",
		"-1": "-0001-01-01", "+20150721": "+20150721-01-01",
	} {
		if d, err := ParseDate(text); err != nil || d.String() != want {
			t.Errorf("%s: %s, %v, want %s", text, d, err, want)
		}
	}
	for _, text := range []string{
		"", "-", "+", "15", "215-07-21", "2015-", "2015-13", "2015-00", "2015-02-29", "2015-366", "2015-000", "2015-W54",
		"2015-W00", "2015-W53-8", "2014-W53", "2015-Q5", "2015-Q1-91", "2015-07-21T", "2015-07-21 ", "2015-0721", "201507-21",
		"2015-07-211", "20150721x", "+1234567890-01-01", "12345-01-01", "２015-07-21",
	} {
		if d, err := ParseDate(text); err == nil {
			t.Errorf("%q is taken as %s", text, d)
		}
	}
}

func TestParseTime(t *testing.T) {
	for text, want := range map[string]string{
		"21:40:32.142": "21:40:32.142Z", "214032.142": "21:40:32.142Z", "21:40:32": "21:40:32Z", "2140": "21:40:00Z", "21": "21:00:00Z",
		"21:40:00": "21:40:00Z", "21:40:00.1": "21:40:00.1Z", "21:40:32.0001": "21:40:32.0001Z",
		"21:40:32,123456789": "21:40:32.123456789Z", "21:40:32.142+0100": "21:40:32.142+01:00", "2140-02": "21:40:00-02:00",
		"22+18:00": "22:00:00+18:00", "2140-00:00": "21:40:00Z", "21:40-02:05:07": "21:40:00-02:05:07", "21:40+020507": "21:40:00+02:05:07",
	} {
		if v, err := ParseTime(text, UTC, now); err != nil || v.String() != want {
			t.Errorf("%s: %s, %v, want %s", text, v, err, want)
		}
	}
	for _, text := range []string{
		"", "2", "24:00", "21:60", "21:40:60", "21:4", "21:40:3", "21:40:32.", "21:40:32.1234567890", "214", "21:4032",
		"21:40+", "21:40+1", "21:40+18:01", "21:40 +01:00", "21:40[Europe/Stockholm]",
	} {
		if v, err := ParseTime(text, UTC, now); err == nil {
			t.Errorf("%q is taken as %s", text, v)
		}
	}
	if v, err := ParseTime("12:00", mustZone(t, "Europe/Stockholm"), now); err != nil || v.String() != "12:00:00+01:00" {
		t.Errorf("a default zone: %s, %v", v, err)
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]string{
		"P14DT16H12M": "P14DT16H12M", "P5M1.5D": "P5M1DT12H", "P0.75M": "P22DT19H51M49.5S", "PT0.75M": "PT45S", "P2.5W": "P17DT12H",
		"P12Y5M14DT16H12M70S": "P12Y5M14DT16H13M10S", "P2012-02-02T14:37:21.545": "P2012Y2M2DT14H37M21.545S",
		"P20120202T143721.545": "P2012Y2M2DT14H37M21.545S", "P2012-02-02": "P2012Y2M2D", "P-1Y2M": "P-10M", "-P1Y2DT3S": "P-1Y-2DT-3S",
		"PT-1.5S": "PT-1.5S", "PT-0.000000001S": "PT-0.000000001S", "P1DT-1M": "P1DT-1M", "PT0S": "PT0S", "P0Y": "PT0S",
		"PT2.3S": "PT2.3S", "PT1,5S": "PT1.5S", "P0.1D": "PT2H24M", "PT0.0000000019S": "PT0.000000001S", "p1dt2h": "P1DT2H",
		"PT9223372036854775807S": "PT2562047788015215H30M7S",
	} {
		if d, err := ParseDuration(text); err != nil || d.String() != want {
			t.Errorf("%s: %s, %v, want %s", text, d, err, want)
		}
	}
	for _, text := range []string{
		"", "P", "PT", "P1", "1D", "P1DT", "PD", "P1H", "PT1D", "P1M1Y", "P1D1D", "P1.D", "P.5D", "P1DT1H ", "P1S",
		"PT9223372036854775808S", "P2012-13-01", "P2012-02-02T25:00", "P--1D", "PT99999999999999999999999S",
	} {
		if d, err := ParseDuration(text); err == nil {
			t.Errorf("%q is taken as %s", text, d)
		}
	}
}

// slowDuration reads a duration of units without the short way.
func slowDuration(text string) (Duration, error) {
	s := scanner{text}
	sign := s.sign()
	s.skip('P')
	d, err := s.unitDuration(badText("a duration", text))
	if err == nil && sign < 0 {
		return d.Negate()
	}
	return d, err
}

// FuzzParse parses arbitrary text with every parser; an accepted value must survive formatting and parsing.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"2015-07-21", "2015-W30-2T214032.142Z", "2015202T21+18:00", "21:40:32.142+0100", "2015-Q2-60",
		"1818-07-21T21:40:32.142+00:53:28[Europe/Stockholm]", "2017-10-29T02:30+01:00[Europe/Stockholm]",
		"P12Y5M-14DT16H12.5M70S", "P2012-02-02T14:37:21.545", "-P0.75M", "+999999999-12-31T23:59:59.999999999",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if v, err := ParseDate(s); err == nil {
			if w, err := ParseDate(v.String()); err != nil || w != v {
				t.Errorf("date %q: %s comes back as %s, %v", s, v, w, err)
			}
		}
		if v, err := ParseLocalTime(s); err == nil {
			if w, err := ParseLocalTime(v.String()); err != nil || w != v {
				t.Errorf("local time %q: %s comes back as %s, %v", s, v, w, err)
			}
		}
		if v, err := ParseTime(s, UTC, now); err == nil {
			if w, err := ParseTime(v.String(), UTC, now); err != nil || w != v {
				t.Errorf("time %q: %s comes back as %s, %v", s, v, w, err)
			}
		}
		if v, err := ParseLocalDateTime(s); err == nil {
			if w, err := ParseLocalDateTime(v.String()); err != nil || w != v {
				t.Errorf("local date-time %q: %s comes back as %s, %v", s, v, w, err)
			}
		}
		if v, err := ParseDateTime(s, UTC); err == nil {
			if w, err := ParseDateTime(v.String(), UTC); err != nil || w.Compare(v) != 0 {
				t.Errorf("date-time %q: %s comes back as %s, %v", s, v, w, err)
			}
		}
		if v, err := ParseDuration(s); err == nil {
			if slow, err := slowDuration(s); err == nil && slow != v {
				t.Errorf("duration %q: %s, but %s in fractions", s, v, slow)
			}
			if w, err := ParseDuration(v.String()); err != nil || w != v {
				t.Errorf("duration %q: %s comes back as %s, %v", s, v, w, err)
			}
		}
	})
}
