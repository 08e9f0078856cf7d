package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// repeat writes a text for each number below n.
func repeat(n int, sep string, text func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = text(i)
	}
	return strings.Join(parts, sep)
}

// large are patterns far larger than anybody draws by hand, as programs write them.
var large = map[string]string{
	"a chain":          "MATCH " + repeat(100, "-->", func(int) string { return "()" }) + " RETURN count(*)",
	"a star":           "MATCH " + repeat(100, ", ", func(i int) string { return fmt.Sprintf("(a)-->(b%d)", i) }) + " RETURN count(*)",
	"leaves of a star": repeat(100, " ", func(i int) string { return fmt.Sprintf("MATCH (a)-[:KNOWS]->(b%d)", i) }) + " RETURN count(*)",
	"a product":        "MATCH " + repeat(100, ", ", func(i int) string { return fmt.Sprintf("(b%d:City)", i) }) + " RETURN b1.name",
	"look-ups":         repeat(100, " ", func(i int) string { return fmt.Sprintf("MATCH (p%d:Person {id: %d})", i, i) }) + " RETURN p1.name",
	"all unlike": "MATCH " + repeat(8, ", ", func(i int) string { return fmt.Sprintf("(a)-[:KNOWS]->(b%d)", i) }) + " WHERE " +
		repeat(28, " AND ", func(i int) string {
			x := 1
			for ; i >= x; x++ {
				i -= x
			}
			return fmt.Sprintf("b%d <> b%d", x, i)
		}) + " RETURN count(*)",
}

// asked plans a statement and returns the number of calls of Ended, which returns ended.
func asked(t *testing.T, text string, ended bool) (n int) {
	q, _, err := cypher.Compile(text, cypher.Options{})
	require.NoError(t, err)
	env := social()
	env.Ended = func() bool {
		n++
		return ended
	}
	plan.Optimize(q, env)
	return n
}

// TestLargePatterns plans them with a number of steps that grows with the square of their size, not with its fourth power or
// with the orders that their predicates have.
func TestLargePatterns(t *testing.T) {
	const steps = 64 // between one Ended and the next
	const most = 16 * 100 * 100
	for name, text := range large {
		t.Run(name, func(t *testing.T) {
			require.LessOrEqual(t, asked(t, text, false)*steps, most)
		})
	}
}

// TestEndOfLargePatterns stops planning at the first call of Ended.
func TestEndOfLargePatterns(t *testing.T) {
	for name, text := range large {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, 1, asked(t, text, true))
		})
	}
}
