package temporal

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Parsing inverts formatting with the same pattern.
func TestParsePattern(t *testing.T) {
	for _, c := range []struct{ pattern, text string }{
		{"yyyy-MM-dd", "2024-02-29"},
		{"yyyyMMddHHmmss", "20240229235959"},
		{"d MMMM uuuu, h:mm:ss a", "9 March 2024, 3:05:06 PM"},
		{"EEE, d MMM yyyy HH:mm:ss Z", "Sat, 9 Mar 2024 03:05:06 +0200"},
		{"yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "2024-03-09T03:05:06.070+02:00"},
		{"HH:mm", "23:59"},
		{"uuuu-DDD HH:mm VV", "2024-060 03:05 Europe/Stockholm"},
		{"yyyy-MM-dd HH:mm O", "2024-03-09 03:05 GMT+2"},
		{"A", "83000001"},
	} {
		p, err := ParsePattern(c.text, c.pattern)
		require.NoError(t, err, c.text)
		text, err := p.Format(c.pattern)
		require.NoError(t, err, c.text)
		require.Equal(t, c.text, text)
	}
	for pattern, text := range map[string]string{
		"yyyy-MM-dd": "2024-02-30", "HH:mm": "24:61", "yyyy": "20x", "MMM": "Foo", "X": "x", "q": "1", "'": "", "a": "am pm",
	} {
		_, err := ParsePattern(text, pattern)
		require.Error(t, err, pattern)
	}
}

// The names of java.time.DateTimeFormatter write and read what Java does.
func TestNamedPatterns(t *testing.T) {
	at, err := ParseDateTime("2024-02-29T12:31:14.645876[Europe/Stockholm]", UTC)
	require.NoError(t, err)
	whole, err := ParseDateTime("2024-02-29T12:31:00+01:00", UTC)
	require.NoError(t, err)
	for name, want := range map[string][2]string{
		"ISO_ZONED_DATE_TIME":            {"2024-02-29T12:31:14.645876+01:00[Europe/Stockholm]", "2024-02-29T12:31:00+01:00"},
		"iso_date_time":                  {"2024-02-29T12:31:14.645876+01:00[Europe/Stockholm]", "2024-02-29T12:31:00+01:00"},
		"iso_offset_date_time":           {"2024-02-29T12:31:14.645876+01:00", "2024-02-29T12:31:00+01:00"},
		"iso_local_date_time":            {"2024-02-29T12:31:14.645876", "2024-02-29T12:31:00"},
		"iso_instant":                    {"2024-02-29T11:31:14.645876Z", "2024-02-29T11:31:00Z"},
		"iso_date":                       {"2024-02-29+01:00", "2024-02-29+01:00"},
		"iso_local_date":                 {"2024-02-29", "2024-02-29"},
		"iso_time":                       {"12:31:14.645876+01:00", "12:31:00+01:00"},
		"iso_ordinal_date":               {"2024-060+01:00", "2024-060+01:00"},
		"iso_week_date":                  {"2024-W09-4+01:00", "2024-W09-4+01:00"},
		"basic_iso_date":                 {"20240229+0100", "20240229+0100"},
		"rfc_1123_date_time":             {"Thu, 29 Feb 2024 12:31:14 +0100", "Thu, 29 Feb 2024 12:31:00 +0100"},
		"basic_week_date_time_no_millis": {"2024W094T123114+0100", "2024W094T123100+0100"},
		"date_hour_minute":               {"2024-02-29T12:31", "2024-02-29T12:31"},
		"date_time":                      {"2024-02-29T12:31:14.645+01:00", "2024-02-29T12:31:00.000+01:00"},
		"weekyear_week":                  {"2024-W09", "2024-W09"},
	} {
		for i, v := range []DateTime{at, whole} {
			text, err := v.Parts().Format(NamedPattern(name))
			require.NoError(t, err, name)
			require.Equal(t, want[i], text, name)
			p, err := ParsePattern(text, NamedPattern(name))
			require.NoError(t, err, name)
			again, err := p.Format(NamedPattern(name))
			require.NoError(t, err, name)
			require.Equal(t, text, again, name)
		}
	}
	for name := range namedPatterns {
		text, err := at.Parts().Format(NamedPattern(name))
		require.NoError(t, err, name)
		_, err = ParsePattern(text, NamedPattern(name))
		require.NoError(t, err, "%s: %s", name, text)
	}
	// Both sides of a change of clocks.
	for text, want := range map[string]string{
		"2024-10-27T02:30:00+02:00[Europe/Stockholm]": "2024-10-27T00:30:00Z", "2024-10-27T02:30:00+01:00[Europe/Stockholm]": "2024-10-27T01:30:00Z",
	} {
		p, err := ParsePattern(text, NamedPattern("iso_zoned_date_time"))
		require.NoError(t, err)
		instant, err := p.Format(NamedPattern("iso_instant"))
		require.NoError(t, err)
		require.Equal(t, want, instant)
	}
	for name, text := range map[string]string{
		"iso_week_date": "2024-W53-1", "iso_ordinal_date": "2023-366", "iso_zoned_date_time": "2024-02-29T12:31:14+01:00[Nowhere/Town]",
		"iso_local_date": "2024-02-29+01:00", "iso_instant": "2024-02-29T12:31:14",
	} {
		_, err := ParsePattern(text, NamedPattern(name))
		require.Error(t, err, name)
	}
	_, err = whole.Local().Parts().Format(NamedPattern("iso_instant"))
	require.Error(t, err)
}

func FuzzParsePattern(f *testing.F) {
	f.Add("2024-03-09T03:05:06.070+02:00", "yyyy-MM-dd'T'HH:mm:ss.SSSXXX")
	f.Add("9 March 2024", "d[ MMMM] yyyy")
	f.Add("2024-W09-4T12:31:14.5+01:00[Europe/Stockholm]", "\x06-'W'\x07-\x08'T'HH:mm[:ss[\x02]]XXXXX\x04")
	f.Fuzz(func(_ *testing.T, text, pattern string) {
		_, _ = ParsePattern(text, pattern)
	})
}
