package temporal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph/temporal"
)

// TestPatternWeeks holds the weeks of patterns, which begin on Sunday, at the ends of years.
func TestPatternWeeks(t *testing.T) {
	for text, want := range map[string]string{
		"2020-01-01": "2020 1 1 1 4", "2020-01-04": "2020 1 1 1 7", "2020-01-05": "2020 2 2 1 1", "2019-12-28": "2019 52 4 4 7",
		"2019-12-29": "2020 1 5 5 1", "2016-12-31": "2016 53 5 5 7", "2017-01-01": "2017 1 1 1 1",
	} {
		d, err := temporal.ParseDate(text)
		require.NoError(t, err)
		got, err := d.Parts().Format("Y w W F e")
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
}

// TestPatternHours holds the four ways to count hours.
func TestPatternHours(t *testing.T) {
	for text, want := range map[string]string{
		"00:00": "0 24 12 0 AM midnight", "00:01": "0 24 12 0 AM at night", "06:00": "6 6 6 6 AM in the morning", "12:00": "12 12 12 0 PM noon",
		"12:01": "12 12 12 0 PM in the afternoon", "18:00": "18 18 6 6 PM in the evening", "23:59": "23 23 11 11 PM at night",
	} {
		c, err := temporal.ParseLocalTime(text)
		require.NoError(t, err)
		got, err := c.Parts().Format("H k h K a B")
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
}

// TestPatternOffsets holds the ways to write an offset.
func TestPatternOffsets(t *testing.T) {
	at := temporal.LocalDateTime{}
	for offset, want := range map[int32]string{
		0:         "Z Z Z Z Z +00 +0000 +00:00 +0000 GMT Z GMT GMT",
		3600:      "+01 +0100 +01:00 +0100 +01:00 +01 +0100 +01:00 +0100 GMT+01:00 +01:00 GMT+1 GMT+01:00",
		-12600:    "-0330 -0330 -03:30 -0330 -03:30 -0330 -0330 -03:30 -0330 GMT-03:30 -03:30 GMT-3:30 GMT-03:30",
		3600 + 15: "+01 +0100 +01:00 +010015 +01:00:15 +01 +0100 +01:00 +0100 GMT+01:00:15 +01:00:15 GMT+1:00:15 GMT+01:00:15",
	} {
		got, err := at.In(temporal.Zone{Offset: offset}).Parts().Format("X XX XXX XXXX XXXXX x xx xxx Z ZZZZ ZZZZZ O OOOO")
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// FuzzPattern formats by any pattern: it ends, in a text or in an error.
func FuzzPattern(f *testing.F) {
	for _, s := range []string{"yyyy-MM-dd'T'HH:mm:ss.SSSZ", "[[G]'x''y']ppppd", "p", "[", "]", "'", "{", "hh 'o''clock' a, zzzz", "N A n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		p := temporal.DateTime{Sec: 1577880000, Nano: 1, Offset: 3600}.Parts()
		for _, format := range []func(string) (string, error){p.Format, temporal.Duration{Months: -13, Days: 8, Seconds: -1, Nanos: 5}.Format} {
			if text, err := format(pattern); err == nil {
				require.LessOrEqual(t, len(text), 1100*(len(pattern)+1))
			}
		}
	})
}
