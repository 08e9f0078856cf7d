package query

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestFingerprint(t *testing.T) {
	for _, c := range []struct {
		kind     Kind
		in, want string
	}{
		{StatementKind, "MATCH (n1:A {x: 1, y: 'it\\'s'})\n\tRETURN n1.x + 2.5e3 // why\n;", "MATCH (n1:A {x: ?, y: ?}) RETURN n1.x + ?"},
		{StatementKind, "MATCH (a)-[:R*1..3]->() RETURN $p1, `a 'b`", "MATCH (a)-[:R*?..?]->() RETURN $p1, `a 'b`"},
		{StatementKind, "RETURN /* 1 */ [1, 2,3, \"x\"], 'open", "RETURN [?], ?"},
		{FetchKind, `get {"A[]": {"A": {"x": 1, "y{}": [1, -2.5, "z"], "s": "a:b"}, "count": 10}}`, `get {"A[]":{"A":{"x":?,"y{}":[?],"s":?},"count":?}}`},
		{FetchKind, `get {"A": {"x": "cut of`, `get {"A":{"x":?`},
	} {
		_, text := Fingerprint(c.kind, c.in)
		require.Equal(t, c.want, text)
	}
	one, _ := Fingerprint(StatementKind, "RETURN 1")
	two, _ := Fingerprint(StatementKind, "RETURN  2")
	other, _ := Fingerprint(StatementKind, "RETURN 1 AS x")
	require.Equal(t, one, two)
	require.NotEqual(t, one, other)
	require.Len(t, one, 16)
	_, long := Fingerprint(StatementKind, strings.Repeat("é", maxShape))
	require.Equal(t, strings.Repeat("é", maxShape/2), long)
}

func FuzzFingerprint(f *testing.F) {
	f.Add("RETURN 'a")
	f.Add(`get {"a": [1,`)
	f.Fuzz(func(t *testing.T, s string) {
		for _, kind := range []Kind{StatementKind, FetchKind} {
			digits, text := Fingerprint(kind, s)
			require.Len(t, digits, 16)
			require.LessOrEqual(t, len(text), maxShape)
			require.True(t, utf8.ValidString(text))
		}
	})
}
