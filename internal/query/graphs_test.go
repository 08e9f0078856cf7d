package query

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGraphs makes, lists and drops graphs, whose contents are their own.
func TestGraphs(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		names := func() []string { return must(t, e, "SHOW GRAPHS YIELD name RETURN name ORDER BY name") }
		fails := func(statement, want string) {
			t.Helper()
			_, err := e.rows(Request{Statement: statement})
			require.Equal(t, want, code(err), statement)
		}
		require.Equal(t, []string{"['default']"}, names())
		must(t, e, "CREATE GRAPH other")
		must(t, e, "CREATE (:A)")
		require.Equal(t, []string{"['default']", "['other']"}, names())
		require.Equal(t, []string{"[0]"}, must(t, e, "USE other MATCH (n) RETURN count(n)"))
		must(t, e, "USE other CREATE (:B), (:B)")
		require.Equal(t, []string{"[1]"}, must(t, e, "MATCH (n) RETURN count(n)"))
		require.Equal(t, []string{"['other']"}, must(t, e, "SHOW GRAPH other YIELD name"))

		const exists, unknown = "Neo.ClientError.Database.ExistingDatabaseFound", "Neo.ClientError.Database.DatabaseNotFound"
		fails("CREATE GRAPH other", exists)
		must(t, e, "CREATE GRAPH other IF NOT EXISTS")
		require.Equal(t, []string{"[2]"}, must(t, e, "USE other MATCH (n) RETURN count(n)"), "it is left as it is")
		must(t, e, "CREATE OR REPLACE GRAPH other")
		require.Equal(t, []string{"[0]"}, must(t, e, "USE other MATCH (n) RETURN count(n)"))
		must(t, e, "DROP GRAPH other")
		require.Equal(t, []string{"['default']"}, names())
		fails("USE other RETURN 1", unknown)
		fails("DROP GRAPH other", unknown)
		must(t, e, "DROP GRAPH other IF EXISTS")
		must(t, e, "CREATE GRAPH other")
		require.Equal(t, []string{"[0]"}, must(t, e, "USE other MATCH (n) RETURN count(n)"), "a new one is empty")
	})
}

// Dropping a graph in use takes effect immediately: its requests end with that reason.
func TestDropGraphInUse(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		ctx := context.Background()
		for _, drop := range []string{"DROP GRAPH other", "CREATE OR REPLACE GRAPH other"} {
			must(t, e, "CREATE GRAPH other IF NOT EXISTS")
			tx := begin(t, e, TxOptions{Graph: "other"})
			tx.must(t, "CREATE (:A)")
			beside := begin(t, e, TxOptions{})
			failed := make(chan error)
			for _, req := range []Request{
				{Statement: "UNWIND range(1, 1000000000000) AS x RETURN x", Graph: "other"},
				{Statement: "USE other UNWIND range(1, 1000000000000) AS x RETURN x"},
			} {
				res, err := e.Query(ctx, req)
				require.NoError(t, err)
				go func() {
					for {
						if _, err := res.Next(); err != nil {
							res.Close()
							failed <- err
							return
						}
					}
				}()
			}
			must(t, e, drop)
			for range 2 {
				require.Equal(t, "Neo.ClientError.Database.DatabaseNotFound", code(<-failed))
			}
			_, err := tx.rows(Request{Statement: "RETURN 1"})
			require.Equal(t, notFound, code(err))
			require.ErrorContains(t, err, "dropped")
			beside.must(t, "RETURN 1")
			beside.Rollback()
		}
	})
}
