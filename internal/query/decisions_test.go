package query

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// What docs/cypher.md decides about details that tools and test suites ask for.
func TestDecisions(t *testing.T) {
	e := New(stores["oracle"](t), Options{})
	must(t, e, "CREATE (:A {k: 1})-[:R {x: 1}]->(:A {k: 2})-[:R {x: 2}]->(:A {k: 3})")
	params := map[string]graph.Value{"true": graph.BoolValue(true)}
	for _, c := range []struct{ statement, want string }{
		{"RETURN toString(datetime('2020-01-01T10:00Z'))", "['2020-01-01T10:00:00Z']"},
		{"RETURN toString(datetime('2020-01-01T10:00:00.5+02:00'))", "['2020-01-01T10:00:00.5+02:00']"},
		{"RETURN toString(datetime({year: 2020, timezone: 'Europe/Stockholm'}))", "['2020-01-01T00:00:00+01:00[Europe/Stockholm]']"},
		{"RETURN toString(localdatetime('2020-01-01')), toString(localtime('10')), toString(time('10:00:00.000000120Z'))", "['2020-01-01T00:00:00', '10:00:00', '10:00:00.00000012Z']"},
		{"RETURN toString(duration('PT1.5S')), toString(date('2020-01-01'))", "['PT1.5S', '2020-01-01']"},
		{"RETURN toInteger('１'), toInteger('-१२.7'), toInteger('𝟗'), toInteger('x１'), toFloat('１')", "[1, -12, 9, null, null]"},
		{"RETURN ltrim('\u00a0a'), rtrim('a\u202f'), trim('\u2003a\u001c'), trim('\u0085a')", "['\u00a0a', 'a\u202f', 'a', '\u0085a']"},
		{"RETURN 'a' + $true, $true + 'a'", "['atrue', 'truea']"},
		{"RETURN date({year: 2020, week: 53})", "['2020-12-28']"},
		{"OPTIONAL MATCH (n:None) DELETE n.a RETURN count(*)", "[1]"},
		{"MATCH p = shortestPath((a:A {k: 1})-[:R* {x: 1}]->(b:A)) WHERE a <> b RETURN collect([b.k, length(p)])", "[[[2, 1]]]"},
		{"MATCH (a:A {k: 1}), (b:A {k: 3}) RETURN shortestPath((a)-[:R* {x: 1}]->(b))", "[null]"},
		{"RETURN datetime('2020-01-01T00:00[+01:00]') = datetime({year: 2020, timezone: '+01:00'})", "[true]"},
	} {
		rows, err := e.rows(Request{Statement: c.statement, Params: params})
		require.NoError(t, err, c.statement)
		require.Equal(t, []string{c.want}, rows, c.statement)
	}
	for _, c := range []struct{ statement, kind, phase string }{
		{"RETURN date({year: 2024, week: 53})", "ArgumentError", "runtime"},
		{"RETURN date('2024-W53')", "ArgumentError", "runtime"},
		{"MERGE (n:A {k: 0.0 / 0.0})", "SemanticError", "runtime"},
		{"MERGE (n:A {k: null})", "SemanticError", "runtime"},
		{"MATCH (a:A {k: 1}), (b:A {k: 3}) MERGE (a)-[:R {x: 0.0 / 0.0}]->(b)", "SemanticError", "runtime"},
		{"RETURN [1, 2][..]", "SyntaxError", "compile"},
		{"RETURN 'a' + true", "SyntaxError", "compile"},
		{"RETURN true + 'a'", "SyntaxError", "compile"},
		{"MATCH (n:A) DELETE n.k", "TypeError", "runtime"},
		{";", "SyntaxError", "compile"},
		{"// nothing", "SyntaxError", "compile"},
	} {
		_, err := e.rows(Request{Statement: c.statement})
		require.Error(t, err, c.statement)
		require.Equal(t, [2]string{c.kind, c.phase}, [2]string{graph.AsError(err).Type, graph.AsError(err).Phase}, c.statement)
	}
	require.Equal(t, []string{"[3]"}, must(t, e, "MATCH (n:A) RETURN count(n)"), "nothing was created or deleted")
}

// Errors in the text of a statement say where, as Neo4j's clients expect; syntax errors begin with Invalid input.
func TestPlaces(t *testing.T) {
	e := New(stores["oracle"](t), Options{})
	long := strings.Repeat("é", 300)
	for _, c := range []struct{ statement, begin, end string }{
		{"RETURN 1 +", "Invalid input '': expected ", " (line 1, column 11 (offset: 10))\n\"RETURN 1 +\"\n           ^"},
		{"MATCH (n)\nRETRN n", "Invalid input 'RETRN': ", " (line 2, column 1 (offset: 10))\n\"RETRN n\"\n ^"},
		{"RETURN 'a", "Invalid input: the string ", " (line 1, column 8 (offset: 7))\n\"RETURN 'a\"\n        ^"},
		{"\tRETURN x", "variable `x` is not defined", " (line 1, column 9 (offset: 8))\n\"\tRETURN x\"\n \t       ^"},
		{"RETURN '" + long + "' x y, 1", "Invalid input ", "^"},
	} {
		_, err := e.rows(Request{Statement: c.statement})
		msg := graph.AsError(err).Msg
		require.True(t, strings.HasPrefix(msg, c.begin), msg)
		require.True(t, strings.HasSuffix(msg, c.end), msg)
		require.Less(t, len(msg), 1000)

		tx := begin(t, e, TxOptions{})
		_, err = tx.Run(context.Background(), Request{Statement: c.statement})
		require.Equal(t, msg, graph.AsError(err).Msg, "in a transaction")
	}
}
