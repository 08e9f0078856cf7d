package algo_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
)

// floats makes a vector whose coordinates are not exact as 32-bit floats.
func floats(r *rand.Rand, n int) graph.Value {
	list := make([]graph.Value, n)
	for i := range list {
		list[i] = graph.FloatValue(r.NormFloat64())
	}
	return graph.ListValue(list)
}

// TestNearestConcurrently compares, on one snapshot after another and among own writes, three ways to the same rows, while others write: the
// search of an index, a ranking by packed vectors, and one by lists that are read and copied.
func TestNearestConcurrently(t *testing.T) {
	const n, dimensions = 3000, 150 // the lists lie apart as large values
	r := rand.New(rand.NewPCG(8, 9))
	e := query.New(onDisk(t, 2), query.Options{})
	rows := make([]graph.Value, n)
	for i := range rows {
		rows[i] = graph.ListValue([]graph.Value{graph.IntValue(int64(i)), floats(r, dimensions)})
	}
	mustRun(t, e, "CREATE INDEX FOR (d:Doc) ON (d.n)", nil)
	mustRun(t, e, "CREATE VECTOR INDEX docs FOR (d:Doc) ON d.v OPTIONS {indexConfig: {`vector.dimensions`: 150}}", nil)
	mustRun(t, e, "UNWIND $rows AS r CREATE (:Doc {n: r[0], v: r[1]})", map[string]graph.Value{"rows": graph.ListValue(rows)})

	const ranked = " AS score WHERE score IS NOT NULL RETURN id(d), score ORDER BY score DESC, id(d) LIMIT 10"
	compareConcurrently(t, e, []string{
		"MATCH (d:Doc {n: $n}) SET d.v = $v",
		"MATCH (d:Doc) WHERE d.n >= $n AND d.n < $n + 100 SET d.v = $v",
		"MATCH (d:Doc {n: $n}) REMOVE d.v",
		"MATCH (d:Doc {n: $n}) DETACH DELETE d",
		"CREATE (:Doc {n: $n, v: $v})",
	}, n, dimensions,
		"CALL db.index.vector.queryNodes('docs', 10, $q) YIELD node, score RETURN id(node), score",
		"MATCH (d:Doc) WITH d, vector.similarity.cosine(d.v, $q)"+ranked,
		"MATCH (d:Doc) WITH d, vector.similarity.cosine($q, [x IN d.v | x])"+ranked)
}

// TestNearestEdgesConcurrently is the same for relationships, whose ranking reads their lists.
func TestNearestEdgesConcurrently(t *testing.T) {
	for _, dimensions := range []int{8, 150} { // beside the edges, and apart as large values
		t.Run(strconv.Itoa(dimensions), func(t *testing.T) {
			const n = 2000
			r := rand.New(rand.NewPCG(9, uint64(dimensions)))
			e := query.New(onDisk(t, 2), query.Options{})
			rows := make([]graph.Value, n)
			for i := range rows {
				rows[i] = graph.ListValue([]graph.Value{graph.IntValue(int64(i)), floats(r, dimensions)})
			}
			mustRun(t, e, "CREATE INDEX FOR (d:Doc) ON (d.n)", nil)
			mustRun(t, e, "CREATE VECTOR INDEX facts FOR ()-[r:FACT]-() ON r.v OPTIONS {indexConfig: {`vector.dimensions`: "+strconv.Itoa(dimensions)+"}}", nil)
			mustRun(t, e, "UNWIND range(0, 1999) AS i CREATE (:Doc {n: i})", nil)
			mustRun(t, e, "UNWIND $rows AS r MATCH (a:Doc {n: r[0]}), (b:Doc {n: r[0] * 7 % 2000}) CREATE (a)-[:FACT {v: r[1]}]->(b), (b)-[:OTHER {v: r[1]}]->(a)",
				map[string]graph.Value{"rows": graph.ListValue(rows)})
			const ranked = " AS score WHERE score IS NOT NULL RETURN id(r), score ORDER BY score DESC, id(r) LIMIT 10"
			compareConcurrently(t, e, []string{
				"MATCH (:Doc {n: $n})-[r:FACT]->() SET r.v = $v",
				"MATCH (d:Doc)-[r:FACT]->() WHERE d.n >= $n AND d.n < $n + 100 SET r.v = $v",
				"MATCH (:Doc {n: $n})-[r:FACT]->() REMOVE r.v",
				"MATCH (:Doc {n: $n})<-[r:FACT]-() DELETE r",
				"MATCH (d:Doc {n: $n}) DETACH DELETE d CREATE (:Doc {n: $n})",
				"MATCH (a:Doc {n: $n}), (b:Doc {n: $n * 3 % 2000}) CREATE (a)-[:FACT {v: $v}]->(b)",
			}, n, dimensions,
				"CALL db.index.vector.queryRelationships('facts', 10, $q) YIELD relationship AS r, score RETURN id(r), score",
				"MATCH ()-[r:FACT]->() WITH r, vector.similarity.cosine(r.v, $q)"+ranked)
		})
	}
}

// compareConcurrently runs writes, with a number $n below n and a vector $v, while searches for $q must agree in each transaction.
func compareConcurrently(t *testing.T, e *query.Engine, writes []string, n, dimensions int, searches ...string) {
	r := rand.New(rand.NewPCG(12, 13))
	done := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 2 {
		writers.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 10))
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				text := writes[r.IntN(len(writes))]
				if _, err := run(t.Context(), e, text, map[string]graph.Value{"n": graph.IntValue(int64(r.IntN(n))), "v": floats(r, dimensions)}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for round := range 12 {
		tx, err := e.Begin(t.Context(), query.TxOptions{})
		require.NoError(t, err)
		q := floats(r, dimensions)
		within := func(text string) []string {
			res, err := tx.Run(t.Context(), query.Request{Statement: text, Params: map[string]graph.Value{"q": q, "n": graph.IntValue(int64(r.IntN(n)))}})
			require.NoError(t, err)
			defer res.Close()
			var out []string
			for {
				b, err := res.Next()
				require.NoError(t, err)
				if b == nil {
					return out
				}
				for i := range b.N {
					out = append(out, fmt.Sprintf("%d %v", b.Cols[0].Value(i).Int(), b.Cols[1].Value(i).Float()))
				}
			}
		}
		if round%3 == 0 {
			within(strings.ReplaceAll(writes[0], "$v", "$q"))
		}
		index := within(searches[0])
		require.Len(t, index, 10)
		for _, other := range searches[1:] {
			require.Equal(t, index, within(other))
		}
		tx.Rollback()
	}
	close(done)
	writers.Wait()
}
