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

func FuzzParsePattern(f *testing.F) {
	f.Add("2024-03-09T03:05:06.070+02:00", "yyyy-MM-dd'T'HH:mm:ss.SSSXXX")
	f.Add("9 March 2024", "d[ MMMM] yyyy")
	f.Fuzz(func(_ *testing.T, text, pattern string) {
		_, _ = ParsePattern(text, pattern)
	})
}
