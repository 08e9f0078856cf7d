package query

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInTransactions runs CALL {…} IN TRANSACTIONS over each store.
func TestInTransactions(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		run := func(text string) []string {
			t.Helper()
			rows, err := rowsOf(e.Query(context.Background(), Request{Statement: text}))
			require.NoError(t, err, text)
			return rows
		}
		// The rows arrive in several batches. The later batches are read after transactions have committed.
		run("UNWIND range(1, 2000) AS i CREATE (:A {n: i})-[:T]->(:B)")
		run("MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 1500 ROWS")
		require.Equal(t, []string{"[0]"}, run("MATCH (n) RETURN count(n)"))

		// A statement that fills an empty label finds its own vertices in the index.
		run("CREATE CONSTRAINT k FOR (n:K) REQUIRE n.id IS UNIQUE")
		res, err := e.Query(context.Background(), Request{Statement: "EXPLAIN UNWIND $rows AS row CALL (row) { MERGE (n:K {id: row.id}) } IN TRANSACTIONS"})
		require.NoError(t, err)
		shown, err := json.Marshal(res.Summary().Plan)
		require.NoError(t, err)
		require.Contains(t, string(shown), "UniqueIndexSeek")
		res.Close()

		// The next transaction does not know names from one that was rolled back.
		run(`UNWIND [0, 1, 2] AS i CALL (i) { MERGE (n:Fresh {fresh: i}) ON CREATE SET n.anew = 1 / i } IN TRANSACTIONS OF 1 ROW ON ERROR CONTINUE`)
		require.Equal(t, []string{"['Fresh', 1, 1]", "['Fresh', 2, 0]"}, run("MATCH (n:Fresh) RETURN labels(n)[0], n.fresh, n.anew ORDER BY n.fresh"))
	})
}
