package tck

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// TestParallel runs statements whose rows several goroutines produce: they return the rows of one goroutine in its order, or fail
// with its error.
func TestParallel(t *testing.T) {
	e := newEngine(setting{shards: 3, batch: 16}, nil)
	for _, statement := range []string{
		"UNWIND range(0, 399) AS i CREATE (:P {i: i})",
		"MATCH (a:P), (b:P) WHERE b.i IN [a.i * 7 % 400, a.i * 13 % 400, a.i + 1] CREATE (a)-[:E {w: a.i}]->(b)",
	} {
		_, err := e.run(statement, nil)
		require.NoError(t, err)
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
		require.Equal(t, e.outcome(statement, false), e.outcome(statement, true), statement)
	}
}

// TestParallelMultiplicities runs counts by path multiplicities that several goroutines compute: they return what one goroutine
// returns, or fail as it does.
func TestParallelMultiplicities(t *testing.T) {
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
		e.edges, e.parallel = edges, beside
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

// TestParallelGroups runs aggregations of rows that several goroutines produce and group: they return what one goroutine
// returns in its order. If the groups outgrow the memory, the order may differ.
func TestParallelGroups(t *testing.T) {
	e := newEngine(setting{shards: 3, batch: 16}, nil)
	for _, s := range []string{
		"UNWIND range(0, 399) AS i CREATE (:P {i: i, s: 'a name of some length, so that it takes memory: ' + i % 60})",
		"MATCH (a:P), (b:P) WHERE b.i IN [a.i * 7 % 400, a.i * 13 % 400, a.i + 1, a.i / 20] CREATE (a)-[:E {w: a.i}]->(b)",
	} {
		_, err := e.run(s, nil)
		require.NoError(t, err)
	}
	run := func(statement string) (rows []string) {
		a, err := e.run(statement, nil)
		if err != nil {
			return []string{err.Error()}
		}
		for _, row := range a.rows {
			rows = append(rows, show(row))
		}
		return rows
	}
	const match = "MATCH (a:P)-[r:E]->(b)-[:E]->(c) WHERE a.i + c.i <> 9 RETURN "
	for _, statement := range []string{
		match + "c.i % 7 AS k, count(*), count(c), sum(a.i), avg(b.i / 7.0), stDev(c.i), min(a.s), max(b.i)",
		match + "b.i AS k, a.s AS s, collect(c.i), sum(r.w)",
		match + "b.i % 90 AS k, count(DISTINCT c.i % 5), collect(DISTINCT c), sum(DISTINCT a.i % 3), count(DISTINCT a.s), count(*)",
		match + "a, c, count(*), percentileDisc(b.i, 0.5), percentileCont(DISTINCT b.i, 0.25)",
		match + "CASE a.i % 4 WHEN 0 THEN c.i WHEN 1 THEN toFloat(c.i) WHEN 2 THEN [c.s] END AS k, count(b), max(a)",
		match + "r, count(b.s)",
		match + "a.i % 2 AS k, sum(9223372036854775807 - c.i)",
		match + "a.i % 2 AS k, sum(CASE WHEN c.i < 399 THEN c.i ELSE duration('P1D') END)",
		match + "a.i % 5 AS k, count(1 / (c.i - 77))",
		match + "sum(a.i * c.i), collect(c.i + 1), count(DISTINCT b.i % 50), count(DISTINCT c)",
		"UNWIND [1, 2, 3] AS k CALL (k) { " + match + "(c.i + k) % 4 AS m, count(*) AS n, collect(DISTINCT a.i % 30) AS l } RETURN k, m, n, l",
		"UNWIND [1, 2, 3] AS k CALL (k) { " + match + "sum(b.i * k) AS n, count(DISTINCT c.i % 40) AS m } RETURN k, m, n",
		"MATCH (a:P) WHERE a.s CONTAINS '1' AND a.i % 5 <> 2 RETURN a.s AS s, count(*), collect(a.i), sum(a.i)",
		"MATCH (a:P) WHERE 1 / (a.i - 301) < 1 RETURN a.i % 7 AS k, count(*)",
		"MATCH (a:P)-[:E]->(b:P) RETURN a.s AS s, b.s AS t, count(*) AS n",
		"MATCH (a:P)<-[r:E]-(b) RETURN b.s AS s, a.s AS t, count(r) AS n, count(*) AS m",
		"MATCH (a:P)-[:E]->(b:P) WITH DISTINCT a.s AS s, b.i AS i RETURN count(*)",
		match + "DISTINCT b",
		match + "DISTINCT a.i % 9 AS i, c.s AS s",
		match + "DISTINCT a.i, c.i",
		"MATCH (a:P)-[r:E]->(b)-[:E]->(c) WITH DISTINCT CASE a.i % 3 WHEN 0 THEN b WHEN 1 THEN c END AS x RETURN x.i",
		"UNWIND [1, 2, 3] AS k CALL (k) { " + match + "DISTINCT (c.i + k) % 40 AS m, a.i % 3 AS i } RETURN k, m, i",
	} {
		e.parallel = false
		want := run(statement)
		e.parallel = true
		require.Equal(t, want, run(statement), statement)
	}

	spill, err := exec.NewSpill(t.TempDir(), 1<<30)
	require.NoError(t, err)
	for _, statement := range []string{
		"a.s + b.i + c.i % 20 AS k, b.i AS i, count(*) AS n, collect(c.i) AS l",
		"DISTINCT a.s + b.i + c.i % 20 AS k, b.i AS i",
		"a.i AS i, b.s + c.s AS s, count(DISTINCT b) AS n, sum(c.i) AS m",
	} {
		e.parallel, e.spill, e.bytes = false, nil, 0
		want := run(match + statement)
		e.parallel, e.bytes = true, 700_000
		require.Contains(t, run(match + statement)[0], "query-memory")
		e.spill = spill
		got := run(match + statement)
		slices.Sort(want)
		slices.Sort(got)
		require.Equal(t, want, got, statement)
		require.Zero(t, spill.Used())
	}
}

// TestParallelBlockGroups runs aggregations of vertices that several goroutines read in blocks: they return the rows of one
// goroutine in its order, or fail with its error.
func TestParallelBlockGroups(t *testing.T) {
	store, err := local.Open(local.Options{Dir: "data", FS: vfs.NewMem(), Shards: 3})
	require.NoError(t, err)
	defer store.Close()
	g, err := store.Graph(query.DefaultGraph)
	require.NoError(t, err)
	e := &engine{setting: setting{shards: 3, batch: 64}, g: g}
	for _, s := range []string{
		"UNWIND range(0, 29999) AS i CREATE (:P {i: i, s: 'name ' + i * 7 % 60, t: i * 5 % 3, f: i / 8.0, large: 9223372036854775807 - i})",
		"MATCH (a:P) WHERE a.i % 4096 = 7 SET a.m = a.i, a:Q REMOVE a.t",
		"MATCH (a:P) WHERE a.i = 20000 SET a.m = 'm'",
	} {
		_, err := e.run(s, nil)
		require.NoError(t, err)
	}
	for _, statement := range []string{
		"MATCH (a:P) RETURN a.s AS s, count(*), sum(a.i), min(a.i), max(a.i), avg(a.i), count(a.s)",
		"MATCH (a:P) WHERE a.i > 1000 RETURN a.s AS s, a.t AS t, count(a.t), min(a.t), sum(a.i)",
		"MATCH (a:P) RETURN a.t AS t, a.s AS s, max(a.m), count(a)",
		"MATCH (a:Q) RETURN a.t AS t, a.s AS s, max(a.m), count(a)",
		"MATCH (a) RETURN a.s AS s, sum(a.f), max(a.m), min(a.s), avg(a.large)",
		"MATCH (a:P) RETURN a.t AS t, a.i AS i, count(*)",
		"MATCH (a:P) RETURN a.s AS s, sum(a.large)",
		"MATCH (a:P) RETURN a.s AS s, sum(a.m)",
	} {
		want := e.outcome(statement, false)
		for range 3 {
			require.Equal(t, want, e.outcome(statement, true), statement)
		}
	}
}

// outcome returns the rows of a statement that one goroutine runs, or several in parallel, or its error.
func (e *engine) outcome(statement string, parallel bool) string {
	e.parallel = parallel
	a, err := e.run(statement, nil)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(a.rows)
}
