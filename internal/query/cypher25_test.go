package query

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
)

// TestCypher25 runs the additions of Cypher 25 and the schema's procedures over each store.
func TestCypher25(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		ctx := context.Background()
		run := func(text string) []string {
			t.Helper()
			rows, err := rowsOf(e.Query(ctx, Request{Statement: text}))
			require.NoError(t, err, text)
			return rows
		}
		run("UNWIND range(1, 5) AS i CALL (i) { CREATE (a:A {n: i})-[:T {w: i}]->(b:B {n: i + 0.5}) } IN TRANSACTIONS OF 2 ROWS")
		run("MATCH (b:B), (a:A) WHERE a.n = b.n + 0.5 CALL (a, b) { CREATE (b)-[:U]->(a) } IN TRANSACTIONS OF 3 ROWS")
		require.Equal(t, []string{"[5]"}, run("MATCH (a:A) RETURN count(a)"))
		require.Equal(t, []string{"[[1, 2, 3]]"}, run("MATCH (s:A {n: 1})((x)-[:T]->()-[:U]->(y)){3}(t:A {n: 4}) RETURN [i IN x | i.n]"))
		require.Equal(t, []string{"[8]"}, run("MATCH p = SHORTEST 1 (s:A {n: 1})-->+(t:A {n: 5}) RETURN length(p)"))
		require.Equal(t, []string{"[':`A`', 'n', ['Long'], true]", "[':`B`', 'n', ['Double'], true]"},
			run("CALL db.schema.nodeTypeProperties() YIELD nodeType, propertyName, propertyTypes, mandatory"))
		require.Equal(t, []string{"[':`T`', 'w', ['Long'], true]", "[':`U`', null, null, false]"}, run("CALL db.schema.relTypeProperties()"))
		require.Equal(t, []string{"[2, 2]"}, run("CALL db.schema.visualization() YIELD nodes, relationships RETURN size(nodes), size(relationships)"))
		require.Equal(t, []string{"['avg', true]"}, run("SHOW FUNCTIONS YIELD name, aggregating WHERE name = 'avg'"))
		require.Equal(t, []string{"['coll.max', 'List']", "['substring', 'String']"},
			run("SHOW FUNCTIONS YIELD name, category WHERE name IN ['substring', 'coll.max'] RETURN name, category"))
		require.Empty(t, run("SHOW CURRENT USER"))
		named := access.WithIdentity(ctx, &access.Identity{Name: "ann", Every: access.Reader, Graph: map[string]access.Role{DefaultGraph: access.Writer}})
		rows, err := rowsOf(e.Query(named, Request{Statement: "SHOW CURRENT USER YIELD user, roles WHERE user = 'ann'"}))
		require.NoError(t, err)
		require.Equal(t, []string{"['ann', ['reader', '" + DefaultGraph + ":writer']]"}, rows)
		require.Equal(t, []string{"[5]"}, run("CYPHER 25 runtime = parallel planner=cost MATCH (a:A) RETURN count(a)"))
		_, err = rowsOf(e.Query(ctx, Request{Statement: "CYPHER 7 runtime = parallel planner=cost MATCH (a:A) RETURN count(a)"}))
		require.ErrorContains(t, err, "Cypher 5 and 25")
		run("CREATE (:L {mixed: [1, 2.5, 'x', true]})")
		require.Equal(t, []string{"[[1, 2.5, 'x', true]]"}, run("MATCH (l:L) RETURN l.mixed"))
		for _, no := range []string{"[[1]]", "[null]", "[{a: 1}]", "{a: 1}"} {
			_, err = rowsOf(e.Query(ctx, Request{Statement: "CREATE (:L {mixed: " + no + "})"}))
			require.Error(t, err, no)
		}
		require.Equal(t, []string{"[5]"}, run("cypher 5 MATCH (a:A) RETURN count(a)"))
		require.Equal(t, []string{"[5]"}, run("PROFILE CYPHER replan=skip MATCH (a:A) RETURN count(a)"))
		require.Equal(t, []string{"[5]"}, run("USE "+DefaultGraph+" MATCH (a:B) RETURN count(a)"))
		_, err = rowsOf(e.Query(ctx, Request{Statement: "USE nowhere RETURN 1"}))
		require.Error(t, err)

		tx, err := e.Begin(ctx, TxOptions{})
		require.NoError(t, err)
		defer tx.Rollback()
		_, err = rowsOf(tx.Run(ctx, Request{Statement: "CALL { CREATE (:C) } IN TRANSACTIONS"}))
		require.Error(t, err)
	})
}
