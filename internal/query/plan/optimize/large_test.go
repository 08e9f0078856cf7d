package optimize_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/query/plan/optimize"
	"github.com/hopgate/hopgate/internal/query/steps"
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

// asked plans a statement with a counter, and returns the error that ended it.
func asked(t *testing.T, text string, count *steps.Counter) (err error) {
	q, _, err := cypher.Compile(text, cypher.Options{})
	require.NoError(t, err)
	env := social()
	env.Steps = count
	defer steps.Catch(&err)
	optimize.Plan(q, env)
	return nil
}

// TestLargePatterns plans them with a number of steps that grows with the square of their size, not with its fourth power or
// with the orders that their predicates have.
func TestLargePatterns(t *testing.T) {
	const most = 16 * 100 * 100
	for name, text := range large {
		t.Run(name, func(t *testing.T) {
			count := &steps.Counter{}
			require.NoError(t, asked(t, text, count))
			require.LessOrEqual(t, count.Count(), most)
		})
	}
}

// growing are patterns of n vertices and edges, beyond what is planned as a whole.
var growing = map[string]func(n int) string{
	"a chain": func(n int) string {
		return "MATCH ()" + repeat(n/2, "", func(i int) string { return fmt.Sprintf("-[:T%d]->()", i) }) + " RETURN 1"
	},
	"a star": func(n int) string {
		return "MATCH " + repeat(n/3, ", ", func(i int) string { return fmt.Sprintf("(a)-[:T%d]->(b%d)", i, i) }) + " RETURN a"
	},
	"parallel edges": func(n int) string {
		return "MATCH " + repeat(n/3, ", ", func(i int) string { return fmt.Sprintf("(a)-[:T%d]->(b)", i) }) + " RETURN a"
	},
	"a product": func(n int) string {
		return "MATCH " + repeat(n, ", ", func(i int) string { return fmt.Sprintf("(b%d:City)", i) }) + " RETURN b1.name"
	},
	"look-ups": func(n int) string {
		return "MATCH " + repeat(n, ", ", func(i int) string { return fmt.Sprintf("(p%d:Person {id: %d})", i, i) }) + " RETURN p1.name"
	},
	"a chain of conditions": func(n int) string {
		return "MATCH " + repeat(n, ", ", func(i int) string { return fmt.Sprintf("(b%d)", i) }) + " WHERE " +
			repeat(n-1, " AND ", func(i int) string { return fmt.Sprintf("b%d.x = b%d.y", i, i+1) }) + " RETURN b1.name"
	},
	"paths": func(n int) string {
		return "MATCH " + repeat(n/3, ", ", func(i int) string { return fmt.Sprintf("p%d = (a)-[:T%d]->(b%d)", i, i, i) }) + " WHERE " +
			repeat(n/3, " AND ", func(i int) string { return fmt.Sprintf("length(p%d) = 1", i) }) + " RETURN a"
	},
}

// TestGrowingPatterns doubles the size of patterns, which about doubles the work of planning them.
func TestGrowingPatterns(t *testing.T) {
	for name, text := range growing {
		t.Run(name, func(t *testing.T) {
			work := func(n int) float64 {
				count := &steps.Counter{}
				require.NoError(t, asked(t, text(n), count))
				return float64(count.Count())
			}
			require.Less(t, work(1600)/work(800), 2.2)
		})
	}
}

// TestPartsOfPatterns plans a chain whose only look-up is at its far end: the first part begins there.
func TestPartsOfPatterns(t *testing.T) {
	text := "MATCH ()" + strings.Repeat("-[:KNOWS]->()", 300) + "-[:KNOWS]->(p:Person {id: 7}) RETURN p.name"
	q, _, err := cypher.Compile(text, cypher.Options{})
	require.NoError(t, err)
	optimize.Plan(q, social())
	printed := plan.Format(q)
	require.Equal(t, 301, strings.Count(printed, "Expand"))
	require.Equal(t, 1, strings.Count(printed, "Seek"))
	require.Zero(t, strings.Count(printed, "Scan"))
}

// TestEndOfLargePatterns stops planning at the first poll.
func TestEndOfLargePatterns(t *testing.T) {
	gone := errors.New("gone")
	for name, text := range large {
		t.Run(name, func(t *testing.T) {
			polls := 0
			require.ErrorIs(t, asked(t, text, &steps.Counter{Alive: func() error { polls++; return gone }}), gone)
			require.Equal(t, 1, polls)
		})
	}
}
