package fingerprint

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestFingerprint(t *testing.T) {
	for _, c := range []struct {
		fetch    bool
		in, want string
	}{
		{false, "MATCH (n1:A {x: 1, y: 'it\\'s'})\n\tRETURN n1.x + 2.5e3 // why\n;", "MATCH (n1:A {x: ?, y: ?}) RETURN n1.x + ?"},
		{false, "MATCH (a)-[:R*1..3]->() RETURN $p1, `a 'b`", "MATCH (a)-[:R*?..?]->() RETURN $p1, `a 'b`"},
		{false, "RETURN /* 1 */ [1, 2,3, \"x\"], 'open", "RETURN [?], ?"},
		{true, `get {"A[]": {"A": {"x": 1, "y{}": [1, -2.5, "z"], "s": "a:b"}, "count": 10}}`, `get {"A[]":{"A":{"x":?,"y{}":[?],"s":?},"count":?}}`},
		{true, `get {"A": {"x": "cut of`, `get {"A":{"x":?`},
	} {
		_, text := Of("statement", c.in, c.fetch)
		require.Equal(t, c.want, text)
	}
	one, _ := Of("statement", "RETURN 1", false)
	two, _ := Of("statement", "RETURN  2", false)
	other, _ := Of("statement", "RETURN 1 AS x", false)
	require.Equal(t, one, two)
	require.NotEqual(t, one, other)
	require.Len(t, one, 16)
	_, long := Of("statement", strings.Repeat("é", maxShape), false)
	require.Equal(t, strings.Repeat("é", maxShape/2), long)
}

func FuzzFingerprint(f *testing.F) {
	f.Add("RETURN 'a")
	f.Add(`get {"a": [1,`)
	f.Fuzz(func(t *testing.T, s string) {
		for _, fetch := range []bool{false, true} {
			digits, text := Of("statement", s, fetch)
			require.Len(t, digits, 16)
			require.LessOrEqual(t, len(text), maxShape)
			require.True(t, utf8.ValidString(text))
		}
	})
}
