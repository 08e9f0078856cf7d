package query

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/operation"
	"github.com/hopgate/hopgate/internal/query/trusted"
	"github.com/hopgate/hopgate/internal/query/watch"
)

const shop = `// name: friends
// description: The people whom a person knows.
// param: id :: INTEGER
// param: most :: INTEGER = 10
MATCH (:Person {id: $id})-[:KNOWS]->(p) RETURN p.name AS name ORDER BY name LIMIT $most
// name: rename
// role: support
// param: id :: INTEGER
// param: name :: STRING
MATCH (p:Person {id: $id}) SET p.name = $name`

// definitions returns what is defined in the default graph.
func definitions(t *testing.T, e *Engine) *definition.Set {
	g, err := e.store.Graph(DefaultGraph)
	require.NoError(t, err)
	return g.Definitions()
}

func TestOperations(t *testing.T) {
	e := New(stores["local"](t), Options{})
	query := func(req Request) []string {
		t.Helper()
		rows, err := e.rows(req)
		require.NoError(t, err)
		return rows
	}
	outcome := func(ctx context.Context, req Request) string {
		t.Helper()
		res, err := e.Query(ctx, req)
		if err == nil {
			_, err = res.Next()
			res.Close()
		}
		return code(err)
	}
	query(Request{Statement: "CREATE (:Person {id: 1, name: 'Ann'})-[:KNOWS]->(:Person {id: 2, name: 'Bob'}), (:Person {id: 3})"})
	one := map[string]graph.Value{"id": graph.IntValue(1)}
	require.Len(t, query(Request{Statement: "CALL db.operations.put($text)", Params: map[string]graph.Value{"text": graph.StringValue(shop)}}), 2)
	bob := query(Request{Statement: "RETURN 'Bob' AS name"})
	for _, req := range []Request{
		{Operation: &trusted.Call{Name: "friends"}, Params: one},
		{Statement: "CALL op.friends($id) YIELD *", Params: one},
		{Statement: " call op.friends(1, 5);"},
		{Statement: "CALL op.friends", Params: one},
		{Operation: &trusted.Call{Hash: operation.Get(definitions(t, e), "friends").Hash}, Params: one},
	} {
		require.Equal(t, bob, query(req))
	}
	for want, req := range map[string]Request{
		"Neo.ClientError.Statement.ParameterMissing": {Operation: &trusted.Call{Name: "friends"}},
		"Neo.ClientError.Statement.ArgumentError":    {Operation: &trusted.Call{Name: "friends"}, Params: map[string]graph.Value{"id": graph.StringValue("1")}},
		"Neo.ClientError.Operation.NotFound":         {Operation: &trusted.Call{Name: "no"}},
		"Neo.ClientError.Statement.SyntaxError":      {Statement: "CALL op.friends(1 + 1) YIELD *"},
	} {
		require.Equal(t, want, outcome(t.Context(), req))
	}
	tx, err := e.Begin(t.Context(), TxOptions{})
	require.NoError(t, err)
	res, err := tx.Run(t.Context(), Request{Statement: "CALL op.friends(1)"})
	require.NoError(t, err)
	b, err := res.Next()
	require.NoError(t, err)
	require.Equal(t, 1, b.N)
	res.Close()
	tx.Rollback()

	// A caller of operations runs those of its roles, with the rights that they need, and nothing else.
	runner := access.WithIdentity(t.Context(), &access.Identity{Name: "app", Every: access.Operations})
	support := access.WithIdentity(t.Context(), &access.Identity{Name: "ann", Every: access.Operations, Roles: []string{"support"}})
	none := access.WithIdentity(t.Context(), &access.Identity{Name: "bob"})
	const forbidden = "Neo.ClientError.Security.Forbidden"
	rename := Request{Operation: &trusted.Call{Name: "rename"}, Params: map[string]graph.Value{"id": graph.IntValue(2), "name": graph.StringValue("Ben")}}
	require.Empty(t, outcome(runner, Request{Operation: &trusted.Call{Name: "friends"}, Params: one}))
	require.Equal(t, forbidden, outcome(runner, Request{Statement: "RETURN 1"}))
	require.Equal(t, forbidden, outcome(runner, rename))
	require.Equal(t, forbidden, outcome(none, Request{Operation: &trusted.Call{Name: "friends"}, Params: one}))
	require.Empty(t, outcome(support, rename))
	require.Equal(t, forbidden, outcome(support, Request{Statement: "MATCH (n) RETURN n"}))
	require.Equal(t, query(Request{Statement: "RETURN 'Ben' AS name"}), query(Request{Operation: &trusted.Call{Name: "friends"}, Params: one}))
	mine, err := e.Operations.List(runner, "")
	require.NoError(t, err)
	require.Len(t, mine, 1)
	require.Equal(t, forbidden, outcome(access.WithIdentity(t.Context(), &access.Identity{Name: "w", Every: access.Writer}), Request{Statement: "CALL db.operations.drop('friends')"}))

	// Those that are disabled do not run; those that name what is gone are broken; a faulty one changes nothing.
	query(Request{Statement: "CALL db.operations.disable('friends')"})
	require.Equal(t, "Neo.ClientError.Operation.Disabled", outcome(t.Context(), Request{Operation: &trusted.Call{Name: "friends"}, Params: one}))
	query(Request{Statement: "CALL db.operations.enable('friends')"})
	require.Empty(t, query(Request{Statement: "CALL db.operations.list() YIELD state WITH state WHERE state <> 'enabled' RETURN state"}))
	put := func(text string) error {
		all, err := operation.Parse("f", text)
		require.NoError(t, err)
		_, err = e.Operations.Put(t.Context(), "", all)
		return err
	}
	require.Zero(t, e.Operations.Broken()[DefaultGraph])
	require.NoError(t, put("// name: cities\nMATCH (c:City) RETURN c"))
	require.Equal(t, 1, e.Operations.Broken()[DefaultGraph])
	query(Request{Statement: "CREATE (:City)"})
	require.Zero(t, e.Operations.Broken()[DefaultGraph])
	// One that has lost an index in which it sought is broken, until there is such an index again or it is put again.
	const byName, index = "// name: cities\n// param: name :: STRING\nMATCH (p:Person) WHERE EXISTS { (c:City) WHERE c.name = $name } RETURN p.name", "CREATE INDEX by_%s FOR (c:City) ON (c.name)"
	problem := func() string {
		all, err := e.Operations.List(t.Context(), "")
		require.NoError(t, err)
		return all[slices.IndexFunc(all, func(o operation.State) bool { return o.Name == "cities" })].Problem
	}
	query(Request{Statement: "UNWIND range(1, 1000) AS i CREATE (:City {name: toString(i)})"})
	query(Request{Statement: fmt.Sprintf(index, "one")})
	query(Request{Statement: "CALL db.awaitIndexes()"})
	require.NoError(t, put(byName))
	require.Empty(t, problem())
	require.Zero(t, e.Operations.Broken()[DefaultGraph])
	query(Request{Statement: "DROP INDEX by_one"})
	require.Contains(t, problem(), "no online index RANGE FOR (:City) ON (name)")
	require.Equal(t, 1, e.Operations.Broken()[DefaultGraph])
	query(Request{Statement: fmt.Sprintf(index, "two")})
	query(Request{Statement: "CALL db.awaitIndexes()"})
	require.Empty(t, problem(), "another name is no other index")
	require.Zero(t, e.Operations.Broken()[DefaultGraph])
	query(Request{Statement: "DROP INDEX by_two"})
	version := operation.Get(definitions(t, e), "cities").Version
	require.NoError(t, put(byName))
	require.Empty(t, problem())
	require.Equal(t, version, operation.Get(definitions(t, e), "cities").Version, "it is the same operation")
	require.Zero(t, e.Operations.Broken()[DefaultGraph])
	planned := e.metrics.PlanHits.Load() + e.metrics.PlanMisses.Load()
	require.Zero(t, e.Operations.Broken()[DefaultGraph])
	require.Equal(t, planned, e.metrics.PlanHits.Load()+e.metrics.PlanMisses.Load(), "nothing has changed, so nothing is planned")

	for text, want := range map[string]string{
		"// name: a\nRETURN 1\n// name: b\nRETURN $x":   `operation b: it uses the parameter $x`,
		"// name: a\nRETURN 1\n// name: b\nMATCH":       "operation b: ",
		"// name: a\nCREATE INDEX i FOR (n:L) ON (n.p)": "not a statement that reads or changes data",
		"// name: a\nUSE other RETURN 1":                "names a graph by USE",
	} {
		require.ErrorContains(t, put(text), want)
		require.Nil(t, operation.Get(definitions(t, e), "a"))
	}
	stats := e.Operations.Called()
	require.Len(t, stats, 2)
	for _, s := range stats {
		if s.Name == "friends" {
			require.Positive(t, s.Errors.Load())
		}
	}
	require.True(t, slices.ContainsFunc(e.SlowLog().All(), func(s watch.Slow) bool { return s.Statement == "CALL op.friends" }))
	query(Request{Statement: "CALL db.operations.drop('friends')"})
	require.Len(t, e.Operations.Called(), 1)
	require.Error(t, e.Operations.Drop(t.Context(), "", "friends"))
}
