package query

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// A constant expression is computed once a run, when the first row needs it; others are computed for each row.
func TestConstantExpressions(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		must(t, e, "UNWIND range(1, 3000) AS i CREATE (:E {i: i, at: datetime({year: 2000 + i % 20}), day: date('2001-01-01') + duration({days: i})})-[:T {at: i}]->(:F)")
		ask := func(statement string, params map[string]graph.Value) []string {
			rows, err := e.rows(Request{Statement: statement, Params: params})
			require.NoError(t, err, statement)
			return rows
		}
		for year, want := range map[string]string{"2010": "[1350]", "2015": "[600]", "2019": "[0]"} {
			p := map[string]graph.Value{"at": graph.StringValue(year + "-01-01T00:00:00Z"), "days": graph.IntValue(-1)}
			require.Equal(t, []string{want}, ask("MATCH (n:E) WHERE n.at > datetime($at) RETURN count(*)", p))
			require.Equal(t, []string{want}, ask("MATCH (n:E) WHERE datetime($at) < n.at RETURN count(*)", p))
			require.Equal(t, []string{want}, ask("MATCH (n:E) WHERE n.at > datetime($at) + duration({days: $days + 1}) RETURN count(*)", p))
		}
		require.Equal(t, []string{"[365]"}, must(t, e, "MATCH (n:E) WHERE n.day <= date({year: 2002, month: 1, day: 1}) RETURN count(*)"))
		require.Equal(t, []string{"[0]"}, must(t, e, "MATCH ()-[r:T]->() WHERE r.at > datetime('2012-06-01T00:00:00Z') RETURN count(*)"))
		require.Equal(t, []string{"[3000]"}, must(t, e, "MATCH (n:E) WHERE n.i IN [toInteger('1') + 1, 2, 3] OR true RETURN count(*)"))
		require.Equal(t, []string{"[true]"}, must(t, e, "UNWIND range(1, 100) AS i WITH rand() AS r RETURN count(DISTINCT r) > 90"))
		require.Equal(t, []string{"[true]"}, must(t, e, "UNWIND range(1, 100) AS i WITH randomUUID() AS r RETURN count(DISTINCT r) = 100"))
		require.Equal(t, []string{"[1]"}, must(t, e, "UNWIND range(1, 5000) AS i WITH date() AS d RETURN count(DISTINCT d)"))

		// An error is that of a row: without one there is none.
		require.Empty(t, must(t, e, "MATCH (n:None) RETURN date('x')"))
		require.Equal(t, []string{"[1]"}, must(t, e, "UNWIND [1] AS i RETURN CASE WHEN i = 1 THEN i ELSE 1 / 0 END"))
		_, err := e.rows(Request{Statement: "MATCH (n:E) RETURN date('x')"})
		require.ErrorContains(t, err, "x")
		_, err = e.rows(Request{Statement: "MATCH (n:E) RETURN 1 / 0"})
		require.Equal(t, "Neo.ClientError.Statement.ArithmeticError", code(err))
	})
}
