package tck

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBeside runs statements whose rows are made by several goroutines: they come in the order, and fail with the error, of
// one goroutine's.
func TestBeside(t *testing.T) {
	e := newEngine(setting{shards: 3, batch: 16}, nil)
	for _, statement := range []string{
		"UNWIND range(0, 399) AS i CREATE (:P {i: i})",
		"MATCH (a:P), (b:P) WHERE b.i IN [a.i * 7 % 400, a.i * 13 % 400, a.i + 1] CREATE (a)-[:E {w: a.i}]->(b)",
	} {
		_, err := e.run(statement, nil)
		require.NoError(t, err)
	}
	run := func(statement string, beside bool) string {
		e.beside = beside
		a, err := e.run(statement, nil)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(a.rows)
	}
	for _, statement := range []string{
		"MATCH (a:P)-[:E]->(b)-[:E]->(c) RETURN a.i, b.i, c.i",
		"MATCH (a:P)-[r:E]-(b)-[s:E]-(c) WHERE c.i % 3 = 0 RETURN a.i, r.w, c.i + b.i",
		"MATCH (a:P)-[:E]->(b)-[:E]->(c) RETURN a.i, c.i SKIP 500 LIMIT 20",
		"MATCH (a:P)-[:E]->(b)-[:E]->(c)-[:E]->(a) RETURN a.i, b.i, c.i",
		"MATCH (a:P)-[:E]->(b)-[:E]->(c) WHERE (c)-[:E]->(a) OR NOT (b)-->(a) RETURN collect(a.i), collect(c.i)",
		"MATCH (a:P)-[:E]->(b)-[:E]->(c) WHERE 1 / (c.i - 77) < 1 RETURN a.i",
		"MATCH (a:P)-[:E]->(b)-[:E]->(c) RETURN a.i, 1 / (c.i - 399) LIMIT 700",
		"UNWIND [1, 2, 3] AS k CALL (k) { MATCH (a:P)-[:E]->(b)-[:E]->(c) WHERE c.i % 5 = k RETURN sum(a.i * c.i) AS s } RETURN k, s",
	} {
		require.Equal(t, run(statement, false), run(statement, true), statement)
	}
}
