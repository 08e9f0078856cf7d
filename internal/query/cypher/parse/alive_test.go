package parse

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/steps"
)

// A long text is read no further once that is not wanted any more, neither cut into tokens nor parsed.
func TestAlive(t *testing.T) {
	text := "RETURN [" + strings.Repeat("1, ", 50_000) + "1] AS x"
	all := 0
	_, err := CountedStatement(text, &steps.Counter{Alive: func() error { all++; return nil }})
	require.NoError(t, err)
	require.Greater(t, all, 100)
	gone := errors.New("gone")
	for last := 1; last <= all; last += 7 {
		asked := 0
		_, err := CountedStatement(text, &steps.Counter{Alive: func() error {
			if asked++; asked >= last {
				return gone
			}
			return nil
		}})
		require.ErrorIs(t, err, gone)
		require.Equal(t, last, asked)
	}
}

// Literals counts too.
func TestLiteralsAlive(t *testing.T) {
	text := "RETURN 1" + strings.Repeat(" + 1", 20_000)
	free := func(string) bool { return false }
	count := &steps.Counter{}
	require.Len(t, Literals(text, free, count), 20_001)
	require.Equal(t, 40_003, count.Count())
	gone := errors.New("gone")
	end := func() (err error) {
		defer steps.Catch(&err)
		Literals(text, free, &steps.Counter{Alive: func() error { return gone }})
		return nil
	}
	require.ErrorIs(t, end(), gone)
}

// TestTooLarge takes statements at a limit and just beyond.
func TestTooLarge(t *testing.T) {
	for _, c := range []struct {
		message string
		most    int
		text    func(n int) string
	}{
		{"clauses", maxClauses, func(n int) string { return strings.Repeat("MATCH (n) ", n-1) + "RETURN n" }},
		{"clauses", maxClauses, func(n int) string {
			return "FOREACH (x IN [1] | " + strings.Repeat("CREATE () ", n-1) + ")"
		}},
		{"in its patterns", maxElements, func(n int) string { return "CREATE ()" + strings.Repeat(", ()", n-1) }},
		{"MATCH has more", maxMatch, func(n int) string { return "MATCH ()" + strings.Repeat(", ()", n-1) + " RETURN 1" }},
		{"MATCH has more", maxMatch, func(n int) string { return "MATCH (a)-->()" + strings.Repeat(", ()", n-3) + " RETURN 1" }},
		{"path has more", maxMatch - 1, func(n int) string {
			return "RETURN EXISTS { ()" + strings.Repeat("--()", (n-1)/2) + " }" + strings.Repeat(" ", n)
		}},
	} {
		t.Run(c.message, func(t *testing.T) {
			_, err := Statement(c.text(c.most))
			require.NoError(t, err)
			_, err = Statement(c.text(c.most + 2))
			require.ErrorContains(t, err, c.message)
			e := graph.AsError(err)
			require.Equal(t, "StatementTooLarge", e.Detail)
			require.Equal(t, "Neo.ClientError.Statement.SyntaxError", e.Code)
			require.NotZero(t, e.Pos)
		})
	}
}
