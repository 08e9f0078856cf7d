package query

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// A driver whose language has one type of numbers sends 3 as 3.0: wherever a function, a clause or a procedure takes an integer, a whole
// float from a parameter counts as one, also from within a map or a list.
func TestWholeFloats(t *testing.T) {
	f := graph.FloatValue
	params := map[string]graph.Value{
		"one": f(1), "two": f(2), "three": f(3), "minus": f(-1), "l": graph.ListValue([]graph.Value{f(1), f(2)}),
		"m":    graph.MapValue([]graph.MapEntry{{Key: "skip", Value: f(1)}, {Key: "limit", Value: f(2)}}),
		"half": f(1.5), "huge": f(1e300),
	}
	e := New(stores["local"](t), Options{})
	must(t, e, "CREATE (a:A {n: 1})-[:T]->(b:A {n: 2})-[:T]->(:A {n: 3})")
	must(t, e, "CREATE VECTOR INDEX v FOR (n:V) ON (n.e)")
	must(t, e, "CREATE (:V {e: [1.0, 0.0]}), (:V {e: [0.0, 1.0]})")
	for _, c := range []struct {
		statement string
		want      []string
	}{
		{"RETURN range(1, $three), range($one, 3), range(3, $one, $minus)", []string{"[[1, 2, 3], [1, 2, 3], [3, 2, 1]]"}},
		{"UNWIND range(1, $two) AS i RETURN i", []string{"[1]", "[2]"}},
		{"RETURN substring('hello', $one), substring('hello', $one, $m.limit)", []string{"['ello', 'el']"}},
		{"RETURN left('hello', $two), right('hello', $l[1])", []string{"['he', 'lo']"}},
		{"RETURN lpad('x', $three, '-'), rpad('x', $three), replace('aaa', 'a', 'b', $two)", []string{"['--x', 'x  ', 'bba']"}},
		{"RETURN [1, 2, 3, 4][$one..$three], [1, 2, 3][..$two], [1, 2, 3][$minus..]", []string{"[[2, 3], [1, 2], [3]]"}},
		{"RETURN round(1.2345, $two), round(1.25, $one, 'HALF_EVEN')", []string{"[1.23, 1.2]"}},
		{"UNWIND [1, 2, 3, 4] AS x RETURN x SKIP $m.skip LIMIT $m.limit", []string{"[2]", "[3]"}},
		{"UNWIND [3, 2, 1] AS x WITH x ORDER BY x SKIP $one LIMIT $one RETURN x", []string{"[2]"}},
		{"UNWIND $l AS i RETURN left('abc', i)", []string{"['a']", "['ab']"}},
		{"RETURN coll.insert([1, 3], $one, 2), coll.remove([1, 2, 3], $one), coll.flatten([[[1]]], $two)", []string{"[[1, 2, 3], [1, 3], [1]]"}},
		{"RETURN vector_dimension_count(vector([1, 2, 3], $three, INTEGER))", []string{"[3]"}},
		{"MATCH (:A {n: 1})-[:T*1..$two]->(b) RETURN b.n ORDER BY b.n", []string{"[2]", "[3]"}},
		{"UNWIND $l AS x CALL (x) { CREATE (:B {x: x}) } IN TRANSACTIONS OF $one ROWS", nil},
		{"CALL db.index.vector.queryNodes('v', $one, [1.0, 0.0]) YIELD score RETURN score", []string{"[1.0]"}},
		{"CALL db.awaitIndexes($three)", nil},
		{"RETURN date({year: 2024.0 + $one, month: $three}).month", []string{"[3]"}},
	} {
		rows, err := e.rows(Request{Statement: c.statement, Params: params})
		require.NoError(t, err, c.statement)
		require.Equal(t, c.want, rows, c.statement)
	}
	// Another number is no integer, and a literal float, or an expression that is always a float, is a mistake in the statement.
	for _, s := range []string{
		"RETURN range(1, $half)", "RETURN left('abc', $half)", "RETURN left('abc', $huge)", "RETURN [1, 2][$half..]", "RETURN 1 LIMIT $half", "RETURN 1 SKIP $huge",
		"CALL db.awaitIndexes($half)", "RETURN range(1, 3.0)", "RETURN left('abc', 1.0)", "RETURN substring('abc', 0, 1.0)", "RETURN round(1.5, 1.0)", "RETURN [1, 2][0.0..1]",
		"RETURN left('abc', toFloat($one))", "RETURN 1 LIMIT 1.0", "RETURN 1 SKIP 1.0", "CALL db.awaitIndexes(3.0)",
		// As in Neo4j, an element of a list is found by an integer only.
		"RETURN [1, 2][$one]",
	} {
		res, err := e.Query(context.Background(), Request{Statement: s, Params: params})
		if err == nil {
			_, err = rowsOf(res, nil)
		}
		require.Error(t, err, s)
		require.Equal(t, graph.KindInvalid, graph.AsError(err).Kind, s)
	}
	// Plans of statements that differ in literals are shared: a whole float does not slip in as a literal.
	must(t, e, "MATCH (n:A) RETURN n.n LIMIT 1")
	_, err := e.rows(Request{Statement: "MATCH (n:A) RETURN n.n LIMIT 1.0"})
	require.Error(t, err)
}
