package query

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/traverse"
)

// shownNotices reads an answer and prints what is likely a mistake in its text, with the word that stands there.
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

func intValues(n int64) []graph.Value { return []graph.Value{graph.IntValue(n)} }
