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

// TestBesideWeights runs statements that count by the weights of vertices, which several goroutines learn: they give what one
// goroutine gives, or fail as it does.
func TestBesideWeights(t *testing.T) {
	e := newEngine(setting{shards: 3, batch: 4}, nil)
	for _, s := range []string{
		"UNWIND range(0, 299) AS i CREATE (:P {i: i})",
		"MATCH (a:P) WHERE a.i % 3 = 0 SET a:Q",
		"MATCH (a:P), (b:P) WHERE b.i IN [a.i * 7 % 300, a.i * 13 % 300, a.i + 1] CREATE (a)-[:E]->(b), (b)-[:F]->(a)",
		"MATCH (a:P), (b:P) WHERE b.i IN [a.i % 20, a.i * 3 % 10] CREATE (a)-[:G]->(b), (a)-[:H]->(b)",
	} {
		_, err := e.run(s, nil)
		require.NoError(t, err)
	}
	run := func(statement string, edges int64, beside bool) string {
		e.edges, e.beside = edges, beside
		a, err := e.run(statement, nil)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(a.rows)
	}
	for _, statement := range []string{
		"MATCH (a:P)-[:E]->()-[:F]->()-[:G]->()-[:H]->() RETURN count(*)",
		"MATCH (a)-[:E]->()-[:F]->()-[:G]->()<-[:H]-() RETURN count(*)",
		"MATCH (a)-[:G]->(b)<-[:H]-(c)<-[:E]-(:Q) OPTIONAL MATCH (c)-[:F]->(d:Q) RETURN count(*)",
		"MATCH (a:P)-[:E]->(:Q)-[:F]->()-[:G]->()<-[:H]-() RETURN a.i % 7 AS k, count(*) ORDER BY k",
		"MATCH (a:P) WHERE COUNT { (a)-[:E]->(:Q)-[:F]->(:Q)-[:G]->()<-[:H]-() } > 300 RETURN a.i",
		"UNWIND [1, 2, 3] AS k CALL (k) { MATCH (a:P)-[:E]->(b:Q)-[:F]->()-[:H]->() WHERE a.i % 5 <> k RETURN count(*) AS n } RETURN k, n",
	} {
		for _, edges := range []int64{0, 150, 300, 1500} {
			require.Equal(t, run(statement, edges, false), run(statement, edges, true), statement)
		}
	}
}
