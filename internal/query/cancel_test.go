package query

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query/exec"
)

// endless are statements that are at work in one operator, or one expression, for longer than anybody waits. The graph
// is a dense one of 30 vertices.
var endless = map[string]string{
	"product":            "MATCH (a), (b), (c), (d), (e), (f), (g), (h) WHERE a.k + b.k + c.k + d.k + e.k + f.k + g.k + h.k < 0 RETURN a.k",
	"hash join":          "MATCH (a), (b), (c) WITH a, b, c MATCH (d), (e), (f), (g), (h) WHERE a.k = d.k AND e.k + f.k + g.k + h.k < 0 RETURN a.k",
	"unwind":             slow,
	"unwind of lists":    "WITH [x IN range(1, 1000) | x] AS l UNWIND l AS a UNWIND l AS b UNWIND l AS c UNWIND l AS d RETURN count(a + d)",
	"aggregate":          "UNWIND range(1, 1000000000000) AS x RETURN x % 10, sum(x), max(x)",
	"distinct":           "UNWIND range(1, 1000000000000) AS x WITH DISTINCT x % 10 AS y RETURN y",
	"sort":               "UNWIND range(1, 1000000000000) AS x RETURN x ORDER BY -x LIMIT 1000",
	"collect":            "UNWIND range(1, 1000000000000) AS x RETURN collect(x % 10)[0]",
	"filter":             "UNWIND range(1, 1000000000000) AS x WITH x WHERE x < 0 RETURN x",
	"union":              "UNWIND range(1, 1000000000000) AS x WITH x WHERE x < 0 RETURN x UNION UNWIND range(1, 1000000000000) AS x WITH x WHERE x < 0 RETURN x",
	"skip":               "UNWIND range(1, 1000000000000) AS x RETURN x SKIP 1000000000000",
	"expand":             "MATCH (a)-->(b)-->(c)-->(d)-->(e)-->(f)-->(g)-->(h)-->(i) WHERE a.k + i.k < 0 RETURN a.k",
	"variable length":    "MATCH p = (a)-[*1..15]->(b) WHERE length(p) < 0 RETURN p",
	"trails":             "MATCH (a)-[r*1..15]->(b) RETURN sum(size(r))",
	"all shortest":       "UNWIND range(1, 1000000000) AS x MATCH p = allShortestPaths((a)-[*..9]->(b)) WHERE a <> b AND length(p) > 5 RETURN p",
	"shortest where":     "MATCH (a), (b) WHERE a <> b MATCH p = shortestPath((a)-[*..20]->(b)) WHERE reduce(s = 0, n IN nodes(p) | s + n.k) < 0 RETURN p",
	"subquery":           "UNWIND range(1, 1000000000) AS x CALL { WITH x MATCH (a), (b), (c) WHERE a.k + b.k + c.k < x - x RETURN a } RETURN x",
	"exists":             "UNWIND range(1, 1000000000) AS x WITH x WHERE EXISTS { MATCH (a), (b), (c), (d) WHERE a.k + b.k + c.k + d.k < x - x } RETURN x",
	"pattern":            "UNWIND range(1, 1000000000) AS x MATCH (a) WITH x, [(a)-->(b)-->(c) WHERE b.k + c.k < 0 | c] AS l WHERE size(l) > 0 RETURN x",
	"comprehension":      "UNWIND range(1, 1000000000) AS x RETURN sum(size([y IN range(1, 1000) WHERE size([z IN range(1, 1000) WHERE z = -y]) > 0]))",
	"quantifier":         "UNWIND range(1, 1000000000) AS x RETURN sum(size([y IN range(1, 1000) WHERE any(z IN range(1, 1000) WHERE z = -y)]))",
	"reduce":             "RETURN reduce(s = 0, x IN range(1, 1000000) | s + reduce(t = 0, y IN range(1, 100000) | t + y % 7))",
	"text":               "RETURN reduce(s = '', x IN range(1, 1000000) | right(s + toString(x) + reverse(s), 100000))",
	"regular expression": "WITH reduce(s = 'a', x IN range(1, 20) | s + s) AS s UNWIND range(1, 1000000000) AS x WITH s, x WHERE s =~ '(a|b)*(a|c)*(a|d)*e' RETURN x",
	"foreach":            "MATCH (a) FOREACH (x IN range(1, 1000000) | SET a.k = a.k + 1)",
	"set":                "UNWIND range(1, 1000000000) AS x MATCH (a {k: 1}) SET a.v = x",
	"merge":              "UNWIND range(1, 1000000000) AS x MERGE (a:M {k: x % 10})",
	"create":             "UNWIND range(1, 1000000000) AS x CREATE (:M {k: x})",
	"create and delete":  "UNWIND range(1, 1000000000) AS x CREATE (m:M {k: x}) DELETE m",
	"percentile":         "UNWIND range(1, 1000000000) AS x CALL { WITH x UNWIND range(1, 50000) AS y RETURN percentileCont(y * 7919 % 50021, 0.5) AS p } RETURN sum(p)",
	"sort of a list":     "WITH [y IN range(1, 50000) | y * 7919 % 50021] AS l UNWIND range(1, 1000000000) AS x RETURN sum(size(coll.sort(l)))",
	"planning":           "MATCH " + chain(2000) + " RETURN a0.k",
	"transactions":       "UNWIND range(1, 1000000000) AS x CALL { WITH x CREATE (:M {k: x}) } IN TRANSACTIONS OF 10 ROWS",
}

// chain is a pattern of so many edges, each with a pattern of its own.
func chain(n int) string {
	edges := make([]string, n)
	for i := range edges {
		edges[i] = fmt.Sprintf("(a%d)-->(a%d)", i, i+1)
	}
	return strings.Join(edges, ", ")
}

// TestCancel kills statements that are at work in each operator: all of them end.
func TestCancel(t *testing.T) {
	overStores(t, Options{QueryBytes: 1 << 30}, func(t *testing.T, e *Engine) {
		must(t, e, "UNWIND range(1, 30) AS x CREATE (:N {k: x})")
		must(t, e, "MATCH (a:N), (b:N) WHERE a <> b CREATE (a)-[:R]->(b)")
		for name, statement := range endless {
			t.Run(name, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(context.Background())
				done := make(chan error, 1)
				go func() {
					_, err := rowsOf(e.Query(ctx, Request{Statement: statement}))
					done <- err
				}()
				select {
				case err := <-done:
					t.Fatalf("it ended by itself: %v", err)
				case <-time.After(20 * time.Millisecond):
				}
				cancel(errKilled)
				select {
				case err := <-done:
					require.Equal(t, "Neo.ClientError.Transaction.Terminated", code(err))
				case <-time.After(patience):
					t.Fatal("it goes on")
				}
			})
		}
	})
}

// TestCancelOnDisk kills statements that have put rows on disk: they end, and so do their files.
func TestCancelOnDisk(t *testing.T) {
	spill, err := exec.NewSpill(t.TempDir(), 4<<30)
	require.NoError(t, err)
	overStores(t, Options{QueryBytes: 4 << 20, Spill: spill}, func(t *testing.T, e *Engine) {
		for _, statement := range []string{
			"UNWIND range(1, 1000000000000) AS x RETURN x ORDER BY x % 7",
			"UNWIND range(1, 1000000000000) AS x RETURN x, count(*)",
			"UNWIND range(1, 1000000000000) AS x WITH DISTINCT x AS y WITH y WHERE y < 0 RETURN y",
		} {
			ctx, cancel := context.WithCancelCause(context.Background())
			done := make(chan error, 1)
			go func() {
				_, err := rowsOf(e.Query(ctx, Request{Statement: statement}))
				done <- err
			}()
			require.Eventually(t, func() bool { return spill.Used() > 1<<20 }, patience, time.Millisecond, statement)
			cancel(errKilled)
			select {
			case err := <-done:
				require.Equal(t, "Neo.ClientError.Transaction.Terminated", code(err), statement)
			case <-time.After(patience):
				t.Fatal("it goes on")
			}
			require.Zero(t, spill.Used(), statement)
		}
	})
}

// TestQueryBytes checks that what expressions and answers of writes hold is bounded, and who holds it is named.
func TestQueryBytes(t *testing.T) {
	overStores(t, Options{QueryBytes: 8 << 20}, func(t *testing.T, e *Engine) {
		must(t, e, "UNWIND range(1, 10) AS x CREATE (:N {k: x, text: reduce(s = '0123456789', i IN range(1, 12) | s + s)})")
		for statement, holder := range map[string]string{
			"UNWIND range(1, 1000) AS x WITH range(1, 10000 + x) AS l RETURN sum(size(l))":                        "range()",
			"UNWIND range(1, 1000) AS x WITH [y IN range(1, 1000) | y + x] AS l RETURN sum(size(l))":              "range()",
			"WITH range(1, 1000) AS l UNWIND l AS x WITH [y IN l | y + x] AS m RETURN sum(size(m))":               "ListComprehension",
			"WITH range(1, 1000) AS l RETURN [y IN l | reduce(s = 'x', i IN range(1, 15) | s + s) + y] AS m":      "Expression",
			"RETURN size(reduce(s = 'x', i IN range(1, 60) | s + s)) AS n":                                        "Expression",
			"RETURN size(reduce(s = [1], i IN range(1, 60) | s + s)) AS n":                                        "Expression",
			"RETURN size(reduce(s = 'x', i IN range(1, 23) | s + s)) AS n":                                        "Expression", // 4 MiB twice, to make 8
			"UNWIND range(1, 1000000) AS x CREATE (m:M) RETURN x":                                                 "Result",
			"UNWIND range(1, 300) AS x MATCH (n:N) SET n.v = 1 RETURN n":                                          "Result",
			"UNWIND range(1, 1000) AS x WITH x, range(1, 5000) AS l RETURN collect(l[x]), collect(reverse(l))[0]": "",
		} {
			_, err := e.rows(Request{Statement: statement})
			require.Equal(t, "Neo.TransientError.General.MemoryPoolOutOfMemoryError", code(err), statement)
			require.ErrorContains(t, err, "query-memory", statement)
			if holder != "" {
				require.ErrorContains(t, err, "operator "+holder, statement)
			}
		}
		for _, statement := range []string{
			"UNWIND range(1, 200000) AS x WITH range(1, x % 10) AS l RETURN sum(size(l))",
			"UNWIND range(1, 200000) AS x WITH 'text ' + x AS s, [y IN range(1, 5) | y] AS l RETURN sum(size(s) + size(l))",
			"RETURN reduce(s = '', x IN range(1, 10000) | s + 'x') AS s",
			"RETURN size(reduce(s = 'x', i IN range(1, 21) | s + s)) AS n",
		} {
			must(t, e, statement)
		}
	})
}
