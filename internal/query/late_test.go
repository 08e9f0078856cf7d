package query

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// The rows before one that fails are returned first, however many rows are computed at a time.
func TestRowsBeforeFailure(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		must(t, e, "CREATE (a:A {k: 1}), (b:A {k: 2}), (c:A {k: 0}), (a)-[:T]->(b), (a)-[:T]->(c)")
		must(t, e, "CREATE (:I {k: 1}), (:I {k: 2})")
		must(t, e, "CREATE INDEX FOR (n:I) ON (n.k)")
		must(t, e, "CALL db.awaitIndexes()")
		for _, w := range []struct {
			statement string
			want      []string
		}{
			{"UNWIND [1, 0] AS x RETURN 1 / x", []string{"[1]"}},
			{"UNWIND [4, 2, 0, 1, 0] AS x RETURN x, 4 / x", []string{"[4, 1]", "[2, 2]"}},
			{"UNWIND [0, 1] AS x RETURN 1 / x", nil},
			{"UNWIND [2, 0] AS x WITH x, 4 / x AS y RETURN x + y", []string{"[4]"}},
			{"UNWIND [2, 1, 0] AS x WITH x WHERE 2 / x > 1 RETURN x", []string{"[1]"}},
			{"UNWIND [1, 2, 1, 0] AS x WITH x WHERE x > 3 OR 2 / x > 1 RETURN x", []string{"[1]", "[1]"}},
			{"UNWIND [2, 1, 0] AS x WITH x WHERE 2 / x > 1 RETURN 1 / (x - 2)", []string{"[-1]"}},
			{"UNWIND [1, 2, 0] AS x UNWIND range(1, 2 / x) AS y RETURN x, y", []string{"[1, 1]", "[1, 2]", "[2, 1]"}},
			{"UNWIND [2, 0] AS s UNWIND range(1, 3, s) AS y RETURN y", []string{"[1]", "[3]"}},
			{"UNWIND [1, 0] AS x UNWIND [1, 2 / x] AS y RETURN y", []string{"[1]", "[2]"}},
			{"UNWIND [1, 0] AS x WITH 1 / x AS y MATCH (n:A {k: y}) RETURN n.k", []string{"[1]"}},
			{"UNWIND [1, 0] AS x WITH 1 / x AS y MATCH (n:A {k: y})-[:T]->(m) RETURN DISTINCT y", []string{"[1]"}},
			{"UNWIND [1, 0] AS x WITH 1 / x AS y MATCH (n:I {k: y}) RETURN n.k", []string{"[1]"}},
			{"UNWIND [2, 1, 0] AS x MATCH (n:I) WHERE n.k = 2 / x RETURN n.k", []string{"[1]", "[2]"}},
			{"UNWIND [2, 1, 0] AS x MATCH (n:I) WHERE n.k > 2 / x RETURN n.k", []string{"[2]"}},
			{"UNWIND [2, 1, 0] AS x MATCH (n:I) USING INDEX n:I(k) WHERE n.k = 2 / x RETURN n.k", []string{"[1]", "[2]"}},
			{"UNWIND [1, 0] AS x CALL (x) { RETURN 1 / x AS y } RETURN y", []string{"[1]"}},
			{"UNWIND [1, 0] AS x RETURN COUNT { MATCH (n:A) WHERE n.k = 1 / x } AS c", []string{"[1]"}},
			{"UNWIND [1, 0] AS x RETURN x, EXISTS { MATCH (n:A) WHERE n.k = 1 / x } AS c", []string{"[1, true]"}},
			{"UNWIND [1, 0] AS x RETURN [y IN [1, 2] | y / x] AS l", []string{"[[1, 2]]"}},
			{"UNWIND [1, 'a', 2] AS x RETURN CASE x WHEN 1 THEN 1 ELSE -x END", []string{"[1]"}},
			{"MATCH (n:A) WITH n ORDER BY n.k DESC RETURN n[CASE n.k WHEN 0 THEN 1 ELSE 'k' END] AS k", []string{"[2]", "[1]"}},
			{"UNWIND [1, 0] AS x RETURN 1 / x AS y ORDER BY y", nil},
			{"UNWIND [1, 0] AS x RETURN sum(1 / x)", nil},
			{"UNWIND [1, 0] AS x RETURN 1 / x AS y UNION ALL RETURN 3 AS y", []string{"[1]"}},
			{"UNWIND [1, 0] AS x CREATE (:W {x: x}) RETURN 1 / x", nil},
		} {
			rows, err := e.rows(Request{Statement: w.statement})
			require.Error(t, err, w.statement)
			require.Contains(t, []string{"Neo.ClientError.Statement.ArithmeticError", "Neo.ClientError.Statement.ArgumentError", "Neo.ClientError.Statement.TypeError"}, graph.AsError(err).Code, w.statement)
			require.Equal(t, w.want, rows, w.statement)
		}
		require.Equal(t, []string{"[0]"}, must(t, e, "MATCH (n:W) RETURN count(n)"))
		require.Equal(t, []string{"[1]"}, must(t, e, "UNWIND [1, 0] AS x RETURN 1 / x LIMIT 1"))

		for _, n := range []int{1, 2, 7, 1023, 1024, 1025, 5000} {
			rows, err := e.rows(Request{Statement: fmt.Sprintf("UNWIND range(%d, -5, -1) AS x WITH x, 1 / x AS y WHERE y >= 0 RETURN x", n)})
			require.Error(t, err)
			require.Len(t, rows, n)
			require.Equal(t, "[1]", rows[n-1])
		}

		// In an explicit transaction.
		tx, err := e.Begin(context.Background(), TxOptions{})
		require.NoError(t, err)
		defer tx.Rollback()
		rows, err := rowsOf(tx.Run(context.Background(), Request{Statement: "UNWIND [1, 0] AS x RETURN 1 / x"}))
		require.Error(t, err)
		require.Equal(t, []string{"[1]"}, rows)
	})
}
