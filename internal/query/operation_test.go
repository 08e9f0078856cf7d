package query

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
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

const people = `// name: person
// route: get
// description: A person and whom it knows.
// param: id :: INTEGER
// param: most :: INTEGER = 5
{
  "Person": {"id": {"$param": "id"}, "@column": "id,name"},
  "friends[]": {"count": {"$param": "most"}, "hop": ">KNOWS", "start@": "Person/id", "Person:f": {"@column": "name"}}
}
// name: add
// route: post
// role: support
// param: id :: INTEGER
// param: name :: STRING?
{"Person": {"id": {"$param": "id"}, "name": {"$param": "name"}}}`

// TestFetchOperations calls operations that are fetches, by their own route and in statements.
func TestFetchOperations(t *testing.T) {
	e := New(stores["local"](t), Options{})
	_, err := e.rows(Request{Statement: "CREATE CONSTRAINT FOR (p:Person) REQUIRE p.id IS UNIQUE"})
	require.NoError(t, err)
	_, err = e.rows(Request{Statement: "CREATE (a:Person {id: 1, name: 'Ann'})-[:KNOWS]->(:Person {id: 2, name: 'Bob'}), (a)-[:KNOWS]->(:Person {id: 3, name: 'Cy'})"})
	require.NoError(t, err)
	_, err = e.rows(Request{Statement: "UNWIND range(100, 2000) AS i CREATE (:Person {id: i})"}) // a seek is cheaper than a scan
	require.NoError(t, err)
	put := func(text string) error {
		all, err := operation.Parse("f", text)
		require.NoError(t, err)
		_, err = e.Operations.Put(t.Context(), "", all)
		return err
	}
	require.NoError(t, put(people))
	times := regexp.MustCompile(`,"time":[0-9]+`)
	call := func(ctx context.Context, req FetchRequest) (answer, failure string) {
		t.Helper()
		var b bytes.Buffer
		c, err := e.Fetch(ctx, req, &b)
		require.Equal(t, err == nil, c != 0)
		return times.ReplaceAllString(b.String(), ""), code(err)
	}
	params := func(id int64) map[string]graph.Value { return map[string]graph.Value{"id": graph.IntValue(id)} }
	const data, ok = `{"Person":{"id":1,"name":"Ann"},"friends[]":[{"Person:f":{"name":"Bob"}},{"Person:f":{"name":"Cy"}}]`, `,"ok":true,"code":200,"msg":"success"}`
	person := operation.Get(definitions(t, e), "person")
	for _, req := range []FetchRequest{
		{Operation: &trusted.Call{Name: "person"}, Params: params(1)},
		{Operation: &trusted.Call{Hash: person.Hash}, Method: "get", Params: params(1), ReadOnly: true},
	} {
		answer, failure := call(t.Context(), req)
		require.Empty(t, failure)
		require.Equal(t, data+ok, answer)
	}
	require.Len(t, person.Indexes, 1)
	// A fetch that reads is a statement's row; one that writes is not.
	text := func(rows []string, err error) string { require.NoError(t, err); return strings.Join(rows, ";") }
	want := text(e.rows(Request{Statement: "RETURN {Person: {id: 1, name: 'Ann'}, `friends[]`: [{`Person:f`: {name: 'Bob'}}]} AS value"}))
	require.Equal(t, want, text(e.rows(Request{Statement: "CALL op.person(1, 1)"})))
	tx, err := e.Begin(t.Context(), TxOptions{})
	require.NoError(t, err)
	for _, statement := range []string{"MATCH (p:Person {id: 1}) SET p.name = 'Amy'", "CALL op.person(1, 1)"} {
		res, err := tx.Run(t.Context(), Request{Statement: statement})
		require.NoError(t, err)
		b, err := res.Next()
		require.NoError(t, err)
		if b != nil {
			require.Contains(t, string(notation.PlainJSON.Append(nil, b.Cols[0].Value(0))), "Amy", "the transaction sees its changes")
		}
		res.Close()
	}
	tx.Rollback()
	runner := access.WithIdentity(t.Context(), &access.Identity{Name: "app", Every: access.Operations})
	support := access.WithIdentity(t.Context(), &access.Identity{Name: "ann", Every: access.Operations, Roles: []string{"support"}})
	answer, failure := call(runner, FetchRequest{Operation: &trusted.Call{Name: "person"}, Params: params(2)})
	require.Empty(t, failure)
	require.Equal(t, `{"Person":{"id":2,"name":"Bob"}`+ok, answer)
	answer, failure = call(support, FetchRequest{Operation: &trusted.Call{Name: "add"}, Params: map[string]graph.Value{"id": graph.IntValue(9), "name": {}}})
	require.Empty(t, failure)
	require.Equal(t, `{"Person":{"ok":true,"code":200,"msg":"success","count":1,"id":9}`+ok, answer)
	require.Equal(t, text(e.rows(Request{Statement: "RETURN {id: 9} AS p"})), text(e.rows(Request{Statement: "MATCH (p:Person {id: 9}) RETURN properties(p) AS p"})))
	add, read := &trusted.Call{Name: "add"}, &trusted.Call{Name: "person"}
	for _, c := range []struct {
		ctx  context.Context
		req  FetchRequest
		want string
	}{
		{runner, FetchRequest{Method: "get", Body: []byte(`{"Person": {}}`)}, ""},
		{runner, FetchRequest{Operation: add, Params: params(9)}, "Neo.ClientError.Security.Forbidden"},
		{support, FetchRequest{Operation: read}, "Neo.ClientError.Statement.ParameterMissing"},
		{support, FetchRequest{Operation: read, Params: map[string]graph.Value{"id": graph.StringValue("1")}}, "Neo.ClientError.Statement.ArgumentError"},
		{support, FetchRequest{Operation: &trusted.Call{Name: "no"}}, "Neo.ClientError.Operation.NotFound"},
		{support, FetchRequest{Operation: read, Method: "gets", Params: params(1)}, "Neo.ClientError.Operation.AnotherKind"},
		{support, FetchRequest{Operation: add, ReadOnly: true, Params: map[string]graph.Value{"id": graph.IntValue(9), "name": {}}}, "Neo.ClientError.Statement.AccessMode"},
	} {
		answer, failure := call(c.ctx, c.req)
		if c.want == "" {
			require.Contains(t, answer, `"code":401`)
			continue
		}
		require.Equal(t, c.want, failure)
		require.Empty(t, answer)
	}
	_, err = e.rows(Request{Statement: "CALL op.add(1, 'x')"})
	require.Equal(t, "Neo.ClientError.Operation.NoStatement", code(err))
	// It is planned when it is put, with its samples, and named in lists.
	require.ErrorContains(t, put("// name: bad\n// route: get\n{\"City\": {}}"), `operation bad: fetch: "City": there is no label`)
	require.ErrorContains(t, put("// name: bad\n// route: delete\n{\"City\": {\"id\": 1}}"), `there is no label`)
	require.ErrorContains(t, put("// name: bad\n// route: get\n// param: n :: STRING\n{\"[]\": {\"count\": {\"$param\": \"n\"}, \"page\": \"x\", \"Person\": {}}}"), `"[]/page": must be a whole number`)
	state, err := e.Operations.List(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, state, 2)
	require.Empty(t, state[1].Problem)
	for _, ix := range []string{"SHOW CONSTRAINTS YIELD name RETURN name"} {
		rows, err := e.rows(Request{Statement: ix})
		require.NoError(t, err)
		_, err = e.rows(Request{Statement: "DROP CONSTRAINT " + strings.Trim(rows[0], "'\" []")})
		require.NoError(t, err)
	}
	state, err = e.Operations.List(t.Context(), "")
	require.NoError(t, err)
	require.Contains(t, state[1].Problem, "in which the operation sought when it was put")
}

// TestNamedIndexes drops the index that a procedure of an operation searches.
func TestNamedIndexes(t *testing.T) {
	e := New(stores["local"](t), Options{})
	for _, s := range []string{
		"CREATE (:Doc {text: 'graphs', v: [1.0, 0.0]})", "CREATE FULLTEXT INDEX texts FOR (d:Doc) ON EACH [d.text]",
		"CREATE VECTOR INDEX near FOR (d:Doc) ON (d.v) OPTIONS {indexConfig: {`vector.dimensions`: 2, `vector.similarity_function`: 'cosine'}}", "CALL db.awaitIndexes()",
	} {
		_, err := e.rows(Request{Statement: s})
		require.NoError(t, err, s)
	}
	all, err := operation.Parse("f", "// name: a\n// param: q :: STRING\nCALL db.index.fulltext.queryNodes('texts', $q) YIELD node RETURN node.text\n"+
		"// name: b\n// param: v :: LIST<FLOAT>\nCALL { CALL db.index.vector.queryNodes('near', 1, $v) YIELD node RETURN node } RETURN node.text")
	require.NoError(t, err)
	_, err = e.Operations.Put(t.Context(), "", all)
	require.NoError(t, err)
	require.Zero(t, e.Operations.Broken()[DefaultGraph])
	for i, name := range []string{"texts", "near"} {
		_, err := e.rows(Request{Statement: "DROP INDEX " + name})
		require.NoError(t, err)
		state, err := e.Operations.List(t.Context(), "")
		require.NoError(t, err)
		require.Equal(t, "there is no online index "+name+", which the operation searches", state[i].Problem)
		require.Equal(t, i+1, e.Operations.Broken()[DefaultGraph])
	}
}
