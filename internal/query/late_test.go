package query

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// The rows before one that fails are returned first, however many rows are computed at a time.
func TestRowsBeforeFailure(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		must(t, e, "CREATE (a:A {k: 1}), (b:A {k: 2}), (c:A {k: 0}), (a)-[:T]->(b), (a)-[:T]->(c)")
		must(t, e, "CREATE (:I {k: 1}), (:I {k: 2})")
		must(t, e, "CREATE (h:H {k: 3}), (i:H {k: 2}), (j:H {k: 1}) WITH * UNWIND [[h, 4], [i, 8], [i, 7], [i, 9], [i, 3], [i, 2], [j, 1], [j, 2]] AS e WITH e[0] AS n, e[1] AS k CREATE (n)-[:E {k: k}]->(:M {k: k})<-[:F]-(n)")
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
			// Arguments of procedures, and procedures that fail.
			{"UNWIND [2, 1, 0, 1] AS x CALL apoc.util.validate(6 / x > 9, 'no', []) RETURN x", []string{"[2]", "[1]"}},
			{"UNWIND [2, 1, 0, 1] AS x CALL apoc.util.validate(x = 0, 'no', []) RETURN x", []string{"[2]", "[1]"}},
			// Rows without a match of a subquery that fails.
			{"UNWIND [3, 1, 3, 0, 1] AS x OPTIONAL CALL (x) { UNWIND CASE 6 / x WHEN 2 THEN [] ELSE [x] END AS y RETURN y } RETURN x, y", []string{"[1, 1]", "[3, null]", "[3, null]"}},
			{"UNWIND [3, 3, 0] AS x OPTIONAL CALL (x) { UNWIND CASE 6 / x WHEN 2 THEN [] ELSE [x] END AS y RETURN y } RETURN x, y", []string{"[3, null]", "[3, null]"}},
			{"UNWIND [3, 0] AS x OPTIONAL MATCH (n:A) WHERE n.k = 9 / x RETURN x, n.k", []string{"[3, null]"}},
			{"UNWIND [9, 1, 9, 0] AS x OPTIONAL MATCH (n:A) WHERE n.k = 1 + 9 / x RETURN x, n.k", []string{"[9, 2]", "[9, 2]", "[1, null]"}},
			{"UNWIND [2, 1, 0] AS x CALL (x) { UNWIND [1, x] AS y RETURN sum(6 / y) AS s } RETURN s", []string{"[9]", "[12]"}},
			{"UNWIND [1, 0] AS x RETURN 1 / x AS y ORDER BY y", nil},
			{"UNWIND [1, 0] AS x RETURN sum(1 / x)", nil},
			{"UNWIND [1, 0] AS x RETURN 1 / x AS y UNION ALL RETURN 3 AS y", []string{"[1]"}},
			{"UNWIND [1, 0] AS x CREATE (:W {x: x}) RETURN 1 / x", nil},
		} {
			rows, err := e.rows(Request{Statement: w.statement})
			require.Error(t, err, w.statement)
			require.Contains(t, []string{"Neo.ClientError.Statement.ArithmeticError", "Neo.ClientError.Statement.ArgumentError", "Neo.ClientError.Statement.TypeError", "Neo.ClientError.Procedure.ProcedureCallFailed"}, graph.AsError(err).Code, w.statement)
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

		// Conditions inside an expansion, which reads its input rows together: those before the failing row, and its edges before the failing one.
		for _, w := range []string{
			"MATCH (n:H) WITH n ORDER BY n.k MATCH (n)-[e:E]->(m) WHERE %s RETURN n.k, e.k AS k", "MATCH (n:H) WITH n ORDER BY n.k DESC MATCH (n)-[e:E]->(m) WHERE %s RETURN n.k, e.k AS k",
			"MATCH (n:H {k: 2})-[e:E]->(m) WHERE %s RETURN n.k, e.k AS k", "MATCH (n:H) WITH n ORDER BY n.k MATCH (n)-[e:E]->(m:M) WHERE %s RETURN n.k, e.k AS k",
			"MATCH (n:H) WITH n ORDER BY n.k MATCH (n)-[:F]->(m) MATCH (n)-[e:E]->(m) WHERE %s RETURN n.k, e.k AS k",
		} {
			all, err := e.rows(Request{Statement: fmt.Sprintf(w, "e.k > 0")})
			require.NoError(t, err)
			at := slices.Index(all, "[2, 9]")
			require.GreaterOrEqual(t, at, 0, all)
			rows, err := e.rows(Request{Statement: fmt.Sprintf(w, "6 / (e.k - 9) < 7")})
			require.ErrorContains(t, err, "/ by zero")
			require.Equal(t, all[:at], append([]string{}, rows...), w)
		}

		must(t, e, "UNWIND range(1, 3000) AS k CREATE (:L {k: k})-[:E {k: k}]->(:M)")
		for _, at := range []int{1, 2, 1024, 1025, 2500} {
			rows, err := e.rows(Request{Statement: fmt.Sprintf("MATCH (n:L) WITH n ORDER BY n.k MATCH (n)-[e:E]->(m) WHERE 6 / (e.k - %d) < 7 RETURN n.k", at)})
			require.ErrorContains(t, err, "/ by zero")
			require.Len(t, rows, at-1)
		}

		// Of several hops, those of the input rows before the failing one.
		for _, w := range []string{
			"UNWIND [1, 3, 2] AS k MATCH (n:H {k: k}) MATCH (n)-[es:E*1..2]->(m) WHERE all(e IN es WHERE %s) RETURN n.k, m.k",
			"UNWIND [3, 2, 1] AS k MATCH (n:H {k: k}) MATCH (n) ((a)-[e:E]->(b) WHERE %s){1,2} (m) RETURN n.k, m.k",
			"UNWIND [3, 1, 2] AS k MATCH (n:H {k: k}) MATCH (n) ((a)-[e:E]->(b) WHERE %s){1,2} (m) RETURN DISTINCT n.k, m.k",
		} {
			all, err := e.rows(Request{Statement: fmt.Sprintf(w, "e.k > 0")})
			require.NoError(t, err)
			rows, err := e.rows(Request{Statement: fmt.Sprintf(w, "6 / (e.k - 9) < 7")})
			require.ErrorContains(t, err, "/ by zero")
			at := slices.IndexFunc(all, func(row string) bool { return strings.HasPrefix(row, "[2,") })
			require.GreaterOrEqual(t, len(rows), at, w)
			require.Equal(t, all[:at], rows[:at], w)
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
