package query

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/alloctest"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/traverse"
)

// shownNotices prints the notifications of an answer, each with the word of the statement that it refers to.
func shownNotices(t *testing.T, text string, res *Result, err error) string {
	require.NoError(t, err)
	_, err = rowsOf(res, nil)
	require.NoError(t, err)
	var out []string
	for _, n := range res.Summary().Notifications {
		s := n.Status
		if n.Pos.Line > 0 {
			require.Equal(t, placeOf(text, n.Pos.Offset), n.Pos)
			word := []rune(text)[n.Pos.Offset:]
			if end := slices.IndexFunc(word, func(r rune) bool { return !ast.IsNamePart(r) }); end >= 0 {
				word = word[:end]
			}
			s += " " + string(word)
		}
		if n.Suggestion != "" {
			s += " -> " + n.Suggestion
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

// TestNotifications runs statements with mistakes, and without.
func TestNotifications(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		run := func(text string) string {
			res, err := e.Query(context.Background(), Request{Statement: text})
			return shownNotices(t, text, res, err)
		}
		require.Empty(t, run("CREATE (p:Person {firstName: 'a', id: 1})-[:KNOWS {since: 2}]->(:City {id: 7})"), "what is made is no mistake")
		for _, c := range []struct{ text, want string }{
			{"MATCH (p:Person {id: 1})-[k:KNOWS]->(c:City) WHERE p.firstName = 'a' RETURN k.since", ""},
			{"MATCH (p:Persn)-[:KNOW]->() RETURN p.frstName", "01N50 Persn -> Person; 01N51 KNOW -> KNOWS; 01N52 frstName -> firstName"},
			{"MATCH (p) WHERE p:Persn OR p.xyzzy = 'abc'\n RETURN p", "01N50 Persn -> Person; 01N52 xyzzy"},
			{"MATCH (p) WHERE p.firstName = 'abcdefg' AND p.frstName = 3 RETURN p", "01N52 frstName -> firstName"},
			{"MATCH (p) WHERE p.firstName = 'ä' AND p.frstName = 3 RETURN p", "01N52 frstName -> firstName"},
			{"MATCH ()-[k]->() WHERE k:KNOW RETURN k", "01N51 KNOW -> KNOWS"},
			{"MATCH (p) WITH p AS q RETURN q.frstName", "01N52 frstName -> firstName"},
			{"MATCH (p {ide: 1}) RETURN p", "01N52 ide -> id"},
			{"WITH {frstName: 1} AS m RETURN m.frstName", ""},
			{"RETURN EXISTS { MATCH (:Persn) }", "01N50 Persn -> Person"},
			{"MATCH (p:Person) SET p.age2 = 1 RETURN p.age2", ""},
			{"MATCH (p:Person) REMOVE p:Nothing", ""},
			{"RETURN 1 AS x UNION MATCH (a), (b) RETURN 2 AS x", "03N90 MATCH"},
			{"MATCH (a)-->(b), (b)-->(c), (c) RETURN a", ""},
			{"MATCH (a), (b), (a)-->(b) RETURN a", ""},
			{"MATCH (a) MATCH (a)-->(b), (a)-->(c) RETURN b", ""},
			{"MATCH (a)-->(), ()-->(b) RETURN a", "03N90 MATCH"},
			{"MATCH (a) RETURN id(a)", "01N01 id -> elementId()"},
			{"MATCH (a {id: 1}), (b {id: 2}) RETURN a", "03N90 MATCH"},
			{"MATCH (a), (b) WHERE a.id = b.id RETURN a", "03N90 MATCH"},
			{"MATCH (p:Person) RETURN p {.frstName, .firstName, ide: p.ide}", "01N52 frstName -> firstName; 01N52 ide -> id"},
			{"MATCH (p:Person) RETURN p['frstName'], p['firstName'], {frstName: 1}['frstName']", "01N52  -> firstName"},
			{"MATCH (p:Person) CALL { WITH p RETURN 1 AS x UNION WITH p RETURN 2 AS x } RETURN x", "01N01 CALL -> CALL (p) {…}"},
			{"MATCH (p:Person) CALL { WITH * RETURN 1 AS x } RETURN x", "01N01 CALL -> CALL (*) {…}"},
			{"CALL { RETURN 1 AS x } RETURN x", "01N01 CALL -> CALL () {…}"},
			{"MATCH (p:Person) CALL (p) { WITH p AS q RETURN q } RETURN q", ""},
			{"MATCH ()-[:KNOWS|:KNOWS*1..2]->() RETURN 1 AS x", "01N01 KNOWS -> :KNOWS|KNOWS"},
			{"MATCH (p:Person) WHERE exists(p.id) AND EXISTS { (p)-->() } AND exists((p)-->()) RETURN 1 AS x", "01N01 exists -> p.id IS NOT NULL"},
			{"MATCH (p:Person)-[k:KNOWS]->(c) SET c += p, c = properties(k), c = {id: 1}", "01N01 p -> properties(p)"},
			{"EXPLAIN MATCH (p:Persn) RETURN p", "01N50 Persn -> Person"},
		} {
			require.Equal(t, c.want, run(c.text), c.text)
			require.Equal(t, c.want, run(c.text), "cached: %s", c.text)
		}
		require.Empty(t, run("CREATE (:Persn)"))
		require.Equal(t, "01N51 KNOW -> KNOWS; 01N52 frstName -> firstName", run("MATCH (p:Persn)-[:KNOW]->() RETURN p.frstName"), "known by now")

		tx, err := e.Begin(context.Background(), TxOptions{})
		require.NoError(t, err)
		defer tx.Rollback()
		text := "MATCH ()-[:KNOW]->() RETURN 1"
		res, err := tx.Run(context.Background(), Request{Statement: text})
		require.Equal(t, "01N51 KNOW -> KNOWS", shownNotices(t, text, res, err))

		start := traverse.Selector{Label: "Citty", Property: "id", Values: intValues(1)}
		for _, typed := range []Typed{
			&traverse.Traversal{From: start, Hops: []traverse.Hop{{Types: []string{"KNOW"}, Where: "v.frstName = 1"}}},
			&traverse.Paths{From: start, To: start, Hop: traverse.Hop{Types: []string{"KNOW"}, Where: "v.frstName = 1"}},
		} {
			res, err := e.Traverse(context.Background(), TypedRequest{Typed: typed})
			require.Equal(t, "01N50 -> City; 01N51 -> KNOWS; 01N52 -> firstName", shownNotices(t, "", res, err))
		}
	})
}

// TestDeprecatedCommands runs commands in the forms of older releases.
func TestDeprecatedCommands(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		for _, c := range []struct{ text, want string }{
			{"CREATE INDEX ON :L(a, `b c`)", "01N01 CREATE -> CREATE INDEX FOR (n:L) ON (n.a, n.`b c`)"},
			{"DROP INDEX ON :L(a, `b c`)", "01N01 DROP -> DROP INDEX name"},
			{"CREATE CONSTRAINT c IF NOT EXISTS ON (n:L) ASSERT n.a IS UNIQUE", "01N01 CREATE -> CREATE CONSTRAINT c IF NOT EXISTS FOR (n:L) REQUIRE (n.a) IS UNIQUE"},
			{"CREATE CONSTRAINT ON (n:L) ASSERT exists(n.b)", "01N01 CREATE -> CREATE CONSTRAINT FOR (n:L) REQUIRE (n.b) IS NOT NULL"},
			{"CREATE INDEX FOR (n:L) ON (n.c)", ""},
			{"CREATE CONSTRAINT FOR (n:L) REQUIRE n.d IS UNIQUE", ""},
		} {
			res, err := e.Query(context.Background(), Request{Statement: c.text})
			require.Equal(t, c.want, shownNotices(t, c.text, res, err), c.text)
		}
	})
}

// TestMissingIndex scans labels with many vertices and with few, before and after the creation of an index.
func TestMissingIndex(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		run := func(text string) string {
			res, err := e.Query(context.Background(), Request{Statement: text})
			return shownNotices(t, text, res, err)
		}
		run("UNWIND range(1, 1001) AS i CREATE (:Big:`Also Big` {id: i, name: toString(i), group: i % 3})")
		run("UNWIND range(1, 1000) AS i CREATE (:Small {id: i})")
		run("MATCH (n:Big) WHERE n.id < 500 REMOVE n:`Also Big`")
		id := " -> CREATE INDEX FOR (n:Big) ON (n.id)"
		name := " -> CREATE INDEX FOR (n:Big) ON (n.name)"
		statements := []struct{ text, before, after string }{
			{"MATCH (n:Big) WHERE n.id = 7 RETURN n", "03N93 " + id, ""},
			{"MATCH (n:Big {id: $x}) RETURN n", "03N93 id" + id, ""},
			{"MATCH (n:Big) WHERE n.id >= 7 AND n.id < 9 RETURN n", "03N93 " + id, ""},
			{"MATCH (n:Big) WHERE n.id IN [1, 2] RETURN n", "03N93 IN" + id, ""},
			{"MATCH (n:Big) WHERE n.name STARTS WITH 'a' RETURN n", "03N93 STARTS" + name, "03N93 STARTS" + name},
			{"MATCH (n:Big) WHERE n.name ENDS WITH 'a' RETURN n", "", ""},
			{"MATCH (n:Big) WHERE n.id <> 3 RETURN n", "", ""},
			{"MATCH (n:Big) WHERE n.id = n.group RETURN n", "", ""},
			{"MATCH (n:Big) RETURN count(n)", "", ""},
			{"MATCH (n:Small) WHERE n.id = 7 RETURN n", "", ""},
			{"MATCH (n) WHERE n.id = 7 RETURN n", "", ""},
			{"MERGE (n:Big {id: 1}) RETURN n", "03N93 id" + id, ""},
			{"MATCH (s:Small) MATCH (n:Big) WHERE n.id = s.id RETURN n", "03N93 " + id, ""},
			{"UNWIND [1, 2] AS i CALL (i) { MATCH (n:Big) WHERE n.id = i RETURN n } RETURN n", "03N93 " + id, ""},
		}
		for range 2 { // the second time from the cache
			for _, s := range statements {
				res, err := e.Query(context.Background(), Request{Statement: s.text, Params: map[string]graph.Value{"x": graph.IntValue(1)}})
				require.Equal(t, s.before, shownNotices(t, s.text, res, err), s.text)
			}
		}
		start := traverse.Selector{Label: "Big", Property: "id", Values: intValues(1)}
		typed := TypedRequest{Typed: &traverse.Traversal{From: start, Hops: []traverse.Hop{{Where: "v.id = 1"}}}}
		res, err := e.Traverse(context.Background(), typed)
		require.Equal(t, "03N93"+id, shownNotices(t, "", res, err))

		run("CREATE INDEX FOR (n:Big) ON (n.id)")
		for _, s := range statements {
			require.Eventually(t, func() bool {
				res, err := e.Query(context.Background(), Request{Statement: s.text, Params: map[string]graph.Value{"x": graph.IntValue(1)}})
				return shownNotices(t, s.text, res, err) == s.after
			}, time.Minute, time.Millisecond, s.text)
		}
		res, err = e.Traverse(context.Background(), typed)
		require.Empty(t, shownNotices(t, "", res, err))
	})
}

// TestNoLiteralsOfThePlan has a Cartesian product described by statements that share a plan.
func TestNoLiteralsOfThePlan(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		for _, text := range []string{"MATCH (a {id: 1}), (b:B {id: 2}) RETURN a", "MATCH (a {id: 1}), (b:B {id: 3}) RETURN a"} {
			res, err := e.Query(context.Background(), Request{Statement: text})
			require.NoError(t, err)
			require.Contains(t, res.Summary().Notifications[0].Description, "the pattern (b:B {id: …}) with", text)
			res.Close()
		}
	})
}

// TestNotificationsAllocate counts what cached plans allocate for their notifications, with unknown names and without.
func TestNotificationsAllocate(t *testing.T) {
	e := New(stores["local"](t), Options{})
	must(t, e, "CREATE (:Person {firstName: 'a', id: 1})-[:KNOWS]->(:Person)")
	g, err := e.store.Graph(DefaultGraph)
	require.NoError(t, err)
	for _, c := range []struct {
		text   string
		notes  int
		allocs float64
	}{
		{"MATCH (p:Person)-[:KNOWS]->() RETURN p.firstName", 0, 0},
		{"MATCH (p:Person {id: 1})-[:KNOWS]->() WHERE p.firstName = 'a' RETURN p.firstName", 0, 0},
		{"MATCH (p:Persn)-[:KNOW]->() RETURN p.frstName", 3, 0},
		{"MATCH (p:Persn {id: 1})-[:KNOW]->() RETURN p.frstName", 3, 1}, // a copy, with the places of this text
	} {
		p, err := e.prepareWith(context.Background(), g, c.text, nil)
		require.NoError(t, err)
		require.Len(t, p.notifications(g), c.notes, c.text)
		require.Equal(t, c.allocs, alloctest.Least(100, func() { p.notifications(g) }), c.text)
	}
}

func intValues(n int64) []graph.Value { return []graph.Value{graph.IntValue(n)} }
