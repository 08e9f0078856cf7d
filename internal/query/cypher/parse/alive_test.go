package parse

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A long text is read no further once that is not wanted any more, neither cut into tokens nor parsed.
func TestAlive(t *testing.T) {
	text := "RETURN [" + strings.Repeat("1, ", 50_000) + "1] AS x"
	all := 0
	_, err := StatementWhile(text, func() error { all++; return nil })
	require.NoError(t, err)
	require.Greater(t, all, (100_000+50_000)/tokensAlive-2)
	gone := errors.New("gone")
	for last := 1; last <= all; last += 7 {
		asked := 0
		_, err := StatementWhile(text, func() error {
			if asked++; asked >= last {
				return gone
			}
			return nil
		})
		require.ErrorIs(t, err, gone)
		require.LessOrEqual(t, asked, last+1)
	}
}

// Literals polls too, and returns nothing for a text that it has not read to its end.
func TestLiteralsAlive(t *testing.T) {
	text := "RETURN 1" + strings.Repeat(" + 1", 20_000)
	free := func(string) bool { return false }
	asked := 0
	require.Len(t, Literals(text, free, func() error { asked++; return nil }), 20_001)
	require.Equal(t, 40_003/tokensAlive, asked)
	asked = 0
	require.Empty(t, Literals(text, free, func() error { asked++; return errors.New("over") }))
	require.Equal(t, 1, asked)
}
