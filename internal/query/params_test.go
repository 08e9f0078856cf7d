package query

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// TestPlanWithOtherParameters runs cached plans concurrently with different parameters: in index look-ups, lists, ranges, limits and
// lengths of paths. One plan serves all of them.
func TestPlanWithOtherParameters(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		ask := func(text string, params map[string]graph.Value) ([]string, error) {
			return rowsOf(e.Query(t.Context(), Request{Statement: text, Params: params}))
		}
		for _, text := range []string{
			`CREATE CONSTRAINT FOR (n:N) REQUIRE n.i IS UNIQUE`,
			`UNWIND range(0, 39) AS i CREATE (:N {i: i})`,
			`MATCH (a:N), (b:N) WHERE b.i = a.i + 1 CREATE (a)-[:NEXT {w: a.i}]->(b)`,
		} {
			_, err := ask(text, nil)
			require.NoError(t, err)
		}
		list := func(from, to int64) string {
			s := ""
			for i := from; i < to; i++ {
				s += fmt.Sprintf("[%d]", i)
			}
			return s
		}
		statements := []struct {
			text string
			want func(n int64) string
		}{
			{`MATCH (a:N {i: $n}) RETURN a.i`, func(n int64) string { return list(n, n+1) }},
			{`MATCH (a:N) WHERE a.i IN [$n, $n + 1] RETURN a.i ORDER BY a.i`, func(n int64) string { return list(n, n+2) }},
			{`MATCH (a:N) WHERE $n <= a.i < $n + 3 RETURN a.i ORDER BY a.i`, func(n int64) string { return list(n, n+3) }},
			{`MATCH (a:N) RETURN a.i ORDER BY a.i SKIP $n LIMIT $n`, func(n int64) string { return list(n, 2*n) }},
			{`MATCH (a:N {i: $n})-[:NEXT]->(b) RETURN b.i`, func(n int64) string { return list(n+1, n+2) }},
			{`MATCH (a:N)-[e:NEXT]->() WHERE e.w = $n RETURN a.i`, func(n int64) string { return list(n, n+1) }},
			{`MATCH (a:N {i: 0})-[:NEXT*]->(b) RETURN b.i ORDER BY b.i LIMIT $n`, func(n int64) string { return list(1, n+1) }},
			{`MATCH (a:N {i: $n}), (b:N {i: $n + 1}) WHERE (a)-[:NEXT]->(b) AND NOT (b)-[:NEXT]->(a) RETURN b.i`, func(n int64) string { return list(n+1, n+2) }},
			{`MATCH (a:N {i: 0})-[:NEXT*1..$n]->(b) RETURN b.i ORDER BY b.i`, func(n int64) string { return list(1, n+1) }},
			{`MATCH (a:N {i: 0})-[:NEXT*$n]->(b) RETURN b.i + 0`, func(n int64) string { return list(n, n+1) }},
			{`MATCH (a:N {i: 0})-[:NEXT*..$n]->(b) RETURN count(DISTINCT b)`, func(n int64) string { return list(n, n+1) }},
			{`MATCH (a:N {i: 0}) RETURN COUNT { (a)-[:NEXT*0..$n]->() } - 1`, func(n int64) string { return list(n, n+1) }},
			{`UNWIND range(0, $n - 1) AS i RETURN i`, func(n int64) string { return list(0, n) }},
		}
		var wg sync.WaitGroup
		for w := range int64(4) {
			wg.Go(func() {
				for round := range int64(12) {
					n := 1 + (w*5+round*3)%17
					for _, s := range statements {
						rows, err := ask(s.text, map[string]graph.Value{"n": graph.IntValue(n)})
						got := ""
						for _, r := range rows {
							got += r
						}
						if want := s.want(n); err != nil || got != want {
							t.Errorf("%s with n = %d: want %s, got %s, %v", s.text, n, want, got, err)
						}
					}
				}
			})
		}
		wg.Wait()
		plans := len(statements)
		for _, s := range statements {
			if strings.Contains(s.text, "$n]") {
				plans += maxPlannedHops // one for each length from 1 on
			}
		}
		require.LessOrEqual(t, int(e.metrics.PlanMisses.Load()), 3+4*plans, "each plan is made once, or once by each that came first")
	})
}
