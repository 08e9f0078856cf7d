package query

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// DISTINCT over a unique key still compares vertices outside the constraint: those without the key, those without the label, and
// violations that a statement has not repaired yet.
func TestDistinctKey(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		must(t, e, "CREATE CONSTRAINT FOR (p:P) REQUIRE p.k IS UNIQUE")
		must(t, e, "UNWIND [1, 2, null, null, 1.5, 0.0 / 0.0, 0.0 / 0.0, 'l'] AS k CREATE (:P {k: k, s: 'x'})")
		must(t, e, "MATCH (p:P), (q:P) CREATE (p)-[:R]->(q)")
		const (
			asked  = "MATCH (:P)-[:R]->(q:P) RETURN DISTINCT q.k AS k, q.s AS s"
			bare   = "MATCH (:P)-[:R]->(q) RETURN DISTINCT q.k AS k, q.s AS s"
			counts = "UNWIND [1, 2] AS i CALL { " + bare + " } RETURN count(*)"
		)
		res, err := e.Query(context.Background(), Request{Statement: "EXPLAIN " + asked})
		require.NoError(t, err)
		require.Contains(t, res.Summary().Plan.Args, "BY KEY k")
		res.Close()

		const keys = 6 // 1, 2, null, 1.5, NaN and "l"
		require.Len(t, must(t, e, asked), keys)
		require.Len(t, must(t, e, bare), keys)
		require.Equal(t, []string{"[12]"}, must(t, e, counts))

		// Two vertices have one key until the statement repairs that.
		for _, text := range []string{asked, bare} {
			require.Equal(t, []string{fmt.Sprintf("[%d]", keys-1)},
				must(t, e, "MATCH (p:P {k: 2}) SET p.k = 1 WITH p CALL { "+text+" } WITH p, count(*) AS n SET p.k = 2 RETURN n"), text)
		}

		// The plans were made when all ends had the label.
		must(t, e, "MATCH (p:P {k: 1}) UNWIND [1, 3, 3] AS k CREATE (p)-[:R]->(:Q {k: k, s: 'x'})")
		require.Len(t, must(t, e, asked), keys)
		require.Len(t, must(t, e, bare), keys+1)
		require.Equal(t, []string{"[14]"}, must(t, e, counts))
	})
}
