package search

import (
	"log/slog"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/explain"
	"github.com/hopgate/hopgate/internal/shard/local"
)

const searchEdges = "CALL db.index.vector.queryRelationships('facts', 10, $q) YIELD relationship AS r RETURN r.n"

// edges makes edges with vectors that 2,000 vertices have to others, and their index with further settings.
func edges(b *testing.B, more string) (w *world, n int) {
	n, dimensions := number("HOPGATE_BENCH_VECTORS", 20_000), number("HOPGATE_BENCH_DIMENSIONS", 128)
	store, err := local.Open(local.Options{Dir: b.TempDir(), Shards: 1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	w = &world{engine: query.New(store, query.Options{}), vectors: clustered(n, dimensions), dimensions: dimensions}
	w.run(b, "UNWIND range(0, 1999) AS i CREATE (:Entity {n: i})", nil)
	w.run(b, "CREATE INDEX FOR (e:Entity) ON (e.n)", nil)
	for lo := 0; lo < n; lo += 1000 {
		rows := make([]graph.Value, 0, 1000)
		for i := lo; i < min(lo+1000, n); i++ {
			rows = append(rows, graph.ListValue([]graph.Value{graph.IntValue(int64(i)), graph.IntValue(int64(i * 7919 % 2000)), list(w.vectors[i])}))
		}
		w.run(b, "UNWIND $rows AS r MATCH (a:Entity {n: r[0] % 2000}), (b:Entity {n: r[1]}) CREATE (a)-[:RELATES_TO {n: r[0], v: r[2]}]->(b)",
			map[string]graph.Value{"rows": graph.ListValue(rows)})
	}
	w.run(b, "CREATE VECTOR INDEX facts FOR ()-[r:RELATES_TO]-() ON r.v OPTIONS {indexConfig: {`vector.dimensions`: "+strconv.Itoa(dimensions)+more+"}}", nil)
	return w, n
}

// BenchmarkEdgesHNSW finds the ten edges with the most similar vectors by a graph, and reports the recall and the vectors compared by a search.
func BenchmarkEdgesHNSW(b *testing.B) {
	w, _ := edges(b, ", `vector.hnsw.m`: 16, `vector.hnsw.ef_construction`: 100")
	qs := w.queries(50)
	param := func(i int) map[string]graph.Value { return map[string]graph.Value{"q": qs[i%len(qs)]} }
	var want [][]int64
	for i := range qs {
		ids := w.run(b, "MATCH ()-[r:RELATES_TO]->() WITH r, vector.similarity.cosine(r.v, $q) AS s ORDER BY s DESC LIMIT 10 RETURN r.n", param(i))
		want = append(want, ids)
	}
	for {
		if _, plan := w.profile(b, "PROFILE "+searchEdges, param(0)); total64(plan, func(n *explain.Node) int64 { return n.Candidates }) > 0 {
			break
		}
		time.Sleep(100 * time.Millisecond) // the searches meanwhile are exact
	}
	found, compared := 0, int64(0)
	for i := range qs {
		got, plan := w.profile(b, "PROFILE "+searchEdges, param(i))
		compared += total64(plan, func(n *explain.Node) int64 { return n.Compared })
		for _, n := range want[i] {
			if slices.Contains(got, n) {
				found++
			}
		}
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if got := w.run(b, searchEdges, param(i)); len(got) != 10 {
			b.Fatalf("%d rows", len(got))
		}
	}
	b.ReportMetric(float64(found)/float64(10*len(qs)), "recall@10")
	b.ReportMetric(float64(compared)/float64(len(qs)), "compared/op")
}

// BenchmarkEdges finds the ten edges with the most similar vectors by comparing all.
func BenchmarkEdges(b *testing.B) {
	w, n := edges(b, "")
	qs := w.queries(16)
	for _, q := range qs[:4] {
		w.run(b, searchEdges, map[string]graph.Value{"q": q})
	}
	b.SetBytes(int64(4 * n * w.dimensions))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if got := w.run(b, searchEdges, map[string]graph.Value{"q": qs[i%len(qs)]}); len(got) != 10 {
			b.Fatalf("%d rows", len(got))
		}
	}
}
