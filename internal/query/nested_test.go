package query

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// A few steps can build values without bound, or nested too deeply for the stack of a recursive walk. Their construction fails.
func TestBoundedValues(t *testing.T) {
	overStores(t, Options{QueryBytes: 64 << 20}, func(t *testing.T, e *Engine) {
		for statement, why := range map[string]string{
			"RETURN reduce(x = [1], i IN range(1, 60) | [x, x]) AS x":                                 "more than 2796202 elements",
			"WITH reduce(x = [1], i IN range(1, 60) | [x, x]) AS x RETURN x = x":                      "more than 2796202 elements",
			"RETURN reduce(x = [1], i IN range(1, 60) | {a: x, b: x}) AS x":                           "more than 2796202 elements",
			"RETURN reduce(x = [1], i IN range(1, 60) | [y IN [1, 2] | x]) AS x":                      "more than 2796202 elements",
			"RETURN reduce(x = {a: 1}, i IN range(1, 60) | x {b: x, c: x}) AS x":                      "more than 2796202 elements",
			"RETURN reduce(x = [1], i IN range(1, 10000) | [x]) AS x":                                 "nested more than 1000 deep",
			"RETURN reduce(x = [1], i IN range(1, 10000) | {a: x}) AS x":                              "nested more than 1000 deep",
			"RETURN reduce(x = [1], i IN range(1, 10000) | [y IN [1] | x]) AS x":                      "nested more than 1000 deep",
			"RETURN reduce(x = {a: 1}, i IN range(1, 10000) | x {.*, a: x}) AS x":                     "nested more than 1000 deep",
			"RETURN reduce(x = [1], i IN range(1, 10000) | coll.insert([1], 0, x)) AS x":              "nested more than 1000 deep",
			"RETURN reduce(x = [1], i IN range(1, 10000) | COLLECT { RETURN x }) AS x":                "nested more than 1000 deep",
			"RETURN reduce(x = [1], i IN range(1, 10000) | head(COLLECT { RETURN collect(x) })) AS x": "nested more than 1000 deep",
			"WITH range(1, 2000) AS l WITH [i IN range(1, 2000) | l] AS m RETURN coll.flatten(m)":     "elements",
			"WITH reduce(s = 'ab', i IN range(1, 19) | s + s) AS s RETURN size(replace(s, 'a', s))":   "replace() would make a string",
			"WITH reduce(s = 'ab', i IN range(1, 21) | s + s) AS s RETURN size(split(s, ''))":         "split() would make a list",
			"WITH reduce(s = 'ab', i IN range(1, 16) | s + s) AS s RETURN 'text' =~ s":                "a pattern must have at most 65536 bytes",
		} {
			_, err := e.rows(Request{Statement: statement})
			require.Equal(t, graph.KindBudget, graph.AsError(err).Kind, "%s: %v", statement, err)
			require.ErrorContains(t, err, why, statement)
		}
		for _, statement := range []string{
			"RETURN size(reduce(x = [], i IN range(1, 900) | [x]))",
			"RETURN size(reduce(x = [1], i IN range(1, 15) | [x, x]))",
			"RETURN size(reduce(x = [], i IN range(1, 2000) | x + [[i]]))",
			"WITH range(1, 10000) AS l UNWIND range(1, 3000) AS x WITH [l, x] AS m RETURN count(m)",
			"WITH reduce(s = 'a', i IN range(1, 17) | s + s) AS s RETURN s =~ '(a|b)*c', s =~ 'a*', s =~ 'é'",
		} {
			must(t, e, statement)
		}
	})
}

// The keys of a batch are looked up in parts if they are many, and once if all rows have them in common.
func TestSeekOfLongLists(t *testing.T) {
	overStores(t, Options{QueryBytes: 64 << 20}, func(t *testing.T, e *Engine) {
		must(t, e, "CREATE INDEX FOR (n:N) ON (n.k)")
		must(t, e, "CREATE INDEX FOR ()-[r:R]-() ON (r.k)")
		must(t, e, "UNWIND range(1, 10) AS x CREATE (:N {k: x})-[:R {k: x}]->(:M)")
		for statement, want := range map[string]string{
			"UNWIND range(1, 300) AS x WITH x, range(x % 3 + 5, 1000) AS l MATCH (n:N) WHERE n.k IN l RETURN count(n), sum(n.k + x)":        "[1500, 237750]",
			"UNWIND range(1, 300) AS x WITH x, range(x % 3 + 5, 1000) AS l MATCH ()-[n:R]->() WHERE n.k IN l RETURN count(n), sum(n.k + x)": "[1500, 237750]",
			"WITH range(5, 100000) AS l UNWIND range(1, 1000) AS x MATCH (n:N) WHERE n.k IN l RETURN count(n), sum(n.k + x)":                "[6000, 3048000]",
			"UNWIND range(1, 1000) AS x WITH CASE x % 2 WHEN 1 THEN range(5, 200) END AS l MATCH (n:N) WHERE n.k IN l RETURN count(n)":      "[3000]",
		} {
			require.Equal(t, []string{want}, must(t, e, statement), statement)
		}
	})
}
