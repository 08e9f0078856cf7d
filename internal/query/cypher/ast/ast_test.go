package ast_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/cypher/parse"
)

// TestQuote writes names in backticks only where they need them.
func TestQuote(t *testing.T) {
	for name, want := range map[string]string{
		"a": "a", "_x1": "_x1", "größe": "größe", "ⅷ": "ⅷ", "": "``", "1a": "`1a`", "a b": "`a b`", "a`b": "`a``b`", "match": "match",
	} {
		require.Equal(t, want, ast.Quote(name))
	}
	require.Equal(t, "`Match`", ast.QuoteVariable("Match"))
	require.Equal(t, "end", ast.QuoteVariable("end"))
	require.Equal(t, "a.`b c`.match", ast.QuoteDotted("a.b c.match"))
	require.Equal(t, `'it\'s\\ \n\u0000é'`, ast.QuoteString("it's\\ \n\x00é"))
}

// labels returns the labels of the first node of a statement.
func labels(t *testing.T, pattern string) ast.LabelExpr {
	t.Helper()
	s, err := parse.Statement("MATCH (" + pattern + ") RETURN 1")
	require.NoError(t, err)
	var l ast.LabelExpr
	ast.Inspect(s, func(n ast.Node) bool {
		if n, ok := n.(*ast.NodePattern); ok {
			l = n.Labels
		}
		return true
	})
	return l
}

// TestPlainLabels distinguishes conjunctions and disjunctions of names from other conditions.
func TestPlainLabels(t *testing.T) {
	for pattern, want := range map[string][2][]string{
		"":       {{}, {}},
		":A":     {{"A"}, {"A"}},
		":A:B":   {{"A", "B"}, nil},
		":A&B":   {{"A", "B"}, nil},
		":A|B":   {nil, {"A", "B"}},
		":A|B&C": {nil, nil},
		":!A":    {nil, nil},
		":%":     {nil, nil},
	} {
		l := labels(t, pattern)
		and, ok := ast.Conjunction(l)
		require.Equal(t, want[0] != nil, ok, pattern)
		require.ElementsMatch(t, want[0], and)
		or, ok := ast.Disjunction(l)
		require.Equal(t, want[1] != nil, ok, pattern)
		require.ElementsMatch(t, want[1], or)
	}
}

// everything are statements that between them have every kind of node.
var everything = []string{
	"EXPLAIN MATCH p = (a:A&!B|%)-[r:T*1..$x {k: 1} WHERE r.p]->{2,}(b $y), ((c)-->(d) WHERE c.x)+ USING SCAN a:A WHERE a.x RETURN DISTINCT *, p AS q ORDER BY q SKIP 1 LIMIT 2",
	"OPTIONAL MATCH q = SHORTEST 2 (a)-->(b) UNWIND [1.5, 'a', null, true] AS l WITH l WHERE l CREATE (n) MERGE (m) ON CREATE SET m.x = 1, m = {} ON MATCH SET m:A REMOVE m.x, m:B DELETE m FINISH",
	"FOREACH (x IN xs | SET x.y = 1) CALL p.q(1) YIELD a AS b WHERE b CALL (c) { RETURN 1 AS d UNION RETURN 2 AS d } IN 3 CONCURRENT TRANSACTIONS OF 5 ROWS REPORT STATUS AS s LOAD CSV FROM 'x' AS y FIELDTERMINATOR ';' RETURN 1",
	"RETURN n {.a, b: 1, c}, [x IN xs WHERE x | x.y], [(a)-->(b) WHERE a.x | b], (a)-->(b), shortestPath((a)-->(b)), EXISTS { (a) WHERE a }, COUNT { MATCH (a) RETURN a }",
	"RETURN CASE a WHEN 1, > 2 THEN 3 ELSE 4 END, all(x IN xs WHERE x), reduce(a = 0, x IN xs | a), f(x), count(*), NOT a, a + b, a < b < c, a IS NULL, a IS :: LIST<INT> | MAP, a:A, a[1], a[1..2], a.b",
	"{ WHEN a THEN RETURN 1 AS x ELSE RETURN 2 AS x } UNION RETURN 1 AS x NEXT MATCH (a:$any(x)) SET a:$(x) REMOVE a:$(x) RETURN x",
	"CREATE INDEX FOR (n:A) ON (n.x) OPTIONS {}", "DROP INDEX ON :A(x)", "DROP INDEX i", "CREATE CONSTRAINT FOR (n:A) REQUIRE n.x IS :: INT OPTIONS $o",
	"DROP CONSTRAINT c", "CREATE GRAPH g", "DROP GRAPH g", "SHOW TRANSACTIONS 'a' YIELD x AS y ORDER BY y WHERE y RETURN y", "TERMINATE TRANSACTION 'a'",
}

// TestInspectMeetsAll compares Inspect with a walk by reflection over every kind of node, and prints each node without its children.
func TestInspectMeetsAll(t *testing.T) {
	types := map[string]bool{}
	for _, text := range everything {
		s, err := parse.Statement(text)
		require.NoError(t, err, text)
		met := map[ast.Node]bool{}
		ast.Inspect(s, func(n ast.Node) bool {
			met[n] = true
			return true
		})
		all := map[ast.Node]bool{}
		collect(reflect.ValueOf(s), all)
		for n := range all {
			require.True(t, met[n], "%T in %s", n, text)
			types[reflect.TypeOf(n).Elem().Name()] = true
			if _, ok := n.(*ast.CaseOperand); !ok { // which a test leaves out
				require.NotEmpty(t, ast.Format(n), "%T", n)
			}
		}
		require.Equal(t, len(all), len(met), text)
	}
	require.Len(t, types, 87)
}

// collect gathers the nodes below a value.
func collect(v reflect.Value, into map[ast.Node]bool) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			collect(v.Elem(), into)
		}
	case reflect.Pointer:
		if n, ok := reflect.TypeAssert[ast.Node](v); ok && !v.IsNil() {
			into[n] = true
			collect(v.Elem(), into)
		}
	case reflect.Slice:
		for i := range v.Len() {
			collect(v.Index(i), into)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			collect(field, into)
		}
	}
}

// TestInspectPrunes omits the children of a rejected node.
func TestInspectPrunes(t *testing.T) {
	e, err := parse.Expression("a + f(b)")
	require.NoError(t, err)
	var seen []string
	ast.Inspect(e, func(n ast.Node) bool {
		seen = append(seen, ast.Format(n))
		_, call := n.(*ast.Call)
		return !call
	})
	require.Equal(t, []string{"a + f(b)", "a", "f(b)"}, seen)
}

// TestEqual ignores places and the case of functions, and nothing else.
func TestEqual(t *testing.T) {
	read := func(text string) ast.Expr {
		e, err := parse.Expression(text)
		require.NoError(t, err)
		return e
	}
	require.True(t, ast.Equal(read("COUNT( DISTINCT n.x )+1"), read("count(distinct n.x) + 1")))
	require.False(t, ast.Equal(read("n.x"), read("n.X")))
}
