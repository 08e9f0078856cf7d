package fn

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// LIKE agrees with an equivalent regular expression.
func TestLike(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	draw := func(signs []string, most int) string {
		var b strings.Builder
		for range r.IntN(most) {
			b.WriteString(signs[r.IntN(len(signs))])
		}
		return b.String()
	}
	matched := 0
	for range 100_000 {
		s, pattern := draw([]string{"a", "b", "é", "%", "_", `\`}, 9), draw([]string{"a", "b", "é", "%", "%", "_", `\%`, `\_`, `\\`, `\a`}, 7)
		var re strings.Builder
		quoted := false
		for _, c := range pattern {
			switch {
			case !quoted && c == '\\':
				quoted = true
				continue
			case !quoted && c == '%':
				re.WriteString(".*")
			case !quoted && c == '_':
				re.WriteString(".")
			default:
				re.WriteString(regexp.QuoteMeta(string(c)))
			}
			quoted = false
		}
		want := regexp.MustCompile(`^(?s:` + re.String() + `)$`).MatchString(s)
		require.Equal(t, want, like(s, pattern), "%q LIKE %q", s, pattern)
		if want {
			matched++
		}
	}
	require.Greater(t, matched, 1_000)
}

// A long text and a long pattern are compared in time that grows with the sum of their lengths, not with the product.
func TestLikeLong(t *testing.T) {
	s, part := strings.Repeat("a", 4<<20), strings.Repeat("a", 1<<20)
	require.False(t, like(s, "%"+part+"b%"))
	require.False(t, like(s, "%"+part+"b"))
	require.True(t, like(s, "%"+part))
	require.True(t, like(s+"b", "%"+part+"b"))
	require.False(t, like(s+"b", "%"+part))
}
