package query_test

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/explain"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// TestHNSW searches an index that asks for HNSW by its graph, once that is built, and one that does not exactly, which PROFILE shows.
func TestHNSW(t *testing.T) {
	store, err := local.Open(local.Options{Dir: "data", FS: vfs.NewMem(), Tuning: local.Tuning{GraphVectors: 300}})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	e := query.New(store, query.Options{})
	run := func(text string, params map[string]graph.Value) (ids []int64, candidates int64) {
		res, err := e.Query(t.Context(), query.Request{Statement: text, Params: params})
		require.NoError(t, err)
		defer res.Close()
		for {
			b, err := res.Next()
			require.NoError(t, err)
			if b == nil {
				break
			}
			for i := range b.N {
				ids = append(ids, b.Cols[0].Value(i).Int())
			}
		}
		var sum func(n *explain.Node)
		sum = func(n *explain.Node) {
			if n != nil {
				candidates += n.Candidates
				for _, c := range n.Children {
					sum(c)
				}
			}
		}
		sum(res.Summary().Plan)
		return ids, candidates
	}
	rng := rand.New(rand.NewPCG(4, 5))
	vectors := make([]graph.Value, 1000)
	for i := range vectors {
		list := make([]graph.Value, 6)
		for k := range list {
			list[k] = graph.FloatValue(rng.NormFloat64())
		}
		vectors[i] = graph.ListValue(list)
	}
	run("UNWIND range(0, 999) AS i CREATE (:Doc {id: i, lang: i % 2, v: $vs[i]})", map[string]graph.Value{"vs": graph.ListValue(vectors)})
	run("CREATE VECTOR INDEX near FOR (d:Doc) ON d.v OPTIONS {indexConfig: {`vector.dimensions`: 6, `vector.hnsw.m`: 16}}", nil)
	q := map[string]graph.Value{"q": vectors[77]}
	const search = "PROFILE CALL db.index.vector.queryNodes('near', 5, $q) YIELD node RETURN node.id"
	built := func(search string) {
		for candidates := int64(0); candidates == 0; { // the graph is being built
			var ids []int64
			ids, candidates = run(search, q)
			require.Len(t, ids, 5)
			require.Equal(t, int64(77), ids[0])
			runtime.Gosched()
		}
	}
	built(search)
	run("MATCH (d:Doc {id: 77}) DELETE d CREATE (:Doc {id: -1, v: $q})", q)
	ids, candidates := run(search, q)
	require.Equal(t, int64(-1), ids[0])
	require.NotContains(t, ids, int64(77))
	require.Positive(t, candidates)
	_, candidates = run("PROFILE MATCH (d:Doc) SEARCH d IN (VECTOR INDEX near FOR $q LIMIT 5) RETURN d.id", q)
	require.Positive(t, candidates)
	ids, candidates = run("PROFILE MATCH (d:Doc) SEARCH d IN (VECTOR INDEX near FOR $q WHERE d.lang = 1 LIMIT 5) RETURN d.id", q)
	require.Len(t, ids, 5)
	require.Zero(t, candidates)
	run("DROP INDEX near", nil)
	run("CREATE VECTOR INDEX exact FOR (d:Doc) ON d.v OPTIONS {indexConfig: {`vector.dimensions`: 6}}", nil)
	ids, candidates = run("PROFILE CALL db.index.vector.queryNodes('exact', 5, $q) YIELD node RETURN node.id", q)
	require.Zero(t, candidates)
	require.Equal(t, int64(-1), ids[0])

	run("MATCH (a:Doc {id: 0}) UNWIND range(0, 999) AS i MATCH (b:Doc {id: i - i % 10}) CREATE (b)-[:SAYS {id: i, v: $vs[i]}]->(a)",
		map[string]graph.Value{"vs": graph.ListValue(vectors)})
	run("CREATE VECTOR INDEX facts FOR ()-[r:SAYS]-() ON r.v OPTIONS {indexConfig: {`vector.dimensions`: 6, `vector.hnsw.m`: 16}}", nil)
	const relationships = "PROFILE CALL db.index.vector.queryRelationships('facts', 5, $q) YIELD relationship AS r RETURN r.id"
	built(relationships)
	run("MATCH (b)-[r:SAYS {id: 77}]->(a) DELETE r CREATE (a)-[:SAYS {id: -1, v: $q}]->(b)", q)
	ids, candidates = run(relationships, q)
	require.Equal(t, int64(-1), ids[0])
	require.NotContains(t, ids, int64(77))
	require.Positive(t, candidates)
}
