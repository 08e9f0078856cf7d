package remote_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/traverse"
)

// TestNotifications asks one gateway for names that another gateway's writes make exist, and for an index that it makes.
func TestNotifications(t *testing.T) {
	open := served(t, 2)
	ctx := t.Context()
	reader, writer := query.New(open(), query.Options{}), query.New(open(), query.Options{})
	drain := func(res *query.Result, err error) (statuses []string) {
		require.NoError(t, err)
		defer res.Close()
		for {
			b, err := res.Next()
			require.NoError(t, err)
			if b == nil {
				break
			}
		}
		for _, n := range res.Summary().Notifications {
			statuses = append(statuses, n.Status)
		}
		return statuses
	}
	run := func(e *query.Engine, text string) []string {
		return drain(e.Query(ctx, query.Request{Statement: text}))
	}
	read := func() []string { return run(reader, "MATCH (n:Big)-[:NEXT]->() WHERE n.id = 7 RETURN n") }
	traversal := &traverse.Traversal{
		From: traverse.Selector{Statement: "MATCH (n) RETURN n LIMIT 1"}, Hops: []traverse.Hop{{Types: []string{"NEXT"}}},
	}
	typed := func() []string {
		return drain(reader.Traverse(context.Background(), query.TypedRequest{Typed: traversal}))
	}

	run(writer, "CREATE (:Other)")
	for range 2 { // the second time from the cache
		require.Equal(t, []string{"01N50", "01N51", "01N52"}, read())
		require.Equal(t, []string{"01N51"}, typed())
	}
	run(writer, "CREATE (:Big {id: 7})")
	require.Equal(t, []string{"01N51"}, read(), "the label and the property exist by now")
	run(writer, "MATCH (n:Big) CREATE (n)-[:NEXT]->(:Other)")
	require.Empty(t, typed())
	require.Empty(t, read())

	run(writer, "UNWIND range(8, 3000) AS i CREATE (:Big {id: i})-[:NEXT]->(:Other)")
	run(reader, "MATCH (n) RETURN count(n)") // the gateway knows the size of the graph by this
	require.Equal(t, []string{"03N93"}, read())
	run(writer, "CREATE INDEX FOR (n:Big) ON (n.id)")
	run(writer, "CALL db.awaitIndexes(60)")
	require.Empty(t, read())
}
