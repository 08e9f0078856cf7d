package search

import (
	"log/slog"
	"strconv"
	"testing"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// BenchmarkEdges finds the ten edges with the most similar vectors, among those that 2,000 vertices have to others.
func BenchmarkEdges(b *testing.B) {
	n, dimensions := number("HOPGATE_BENCH_VECTORS", 20_000), number("HOPGATE_BENCH_DIMENSIONS", 128)
	store, err := local.Open(local.Options{Dir: b.TempDir(), Shards: 1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	w := &world{engine: query.New(store, query.Options{}), vectors: clustered(n, dimensions), dimensions: dimensions}
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
	w.run(b, "CREATE VECTOR INDEX facts FOR ()-[r:RELATES_TO]-() ON r.v OPTIONS {indexConfig: {`vector.dimensions`: "+strconv.Itoa(dimensions)+"}}", nil)
	const search = "CALL db.index.vector.queryRelationships('facts', 10, $q) YIELD relationship AS r RETURN r.n"
	qs := w.queries(16)
	for _, q := range qs[:4] {
		w.run(b, search, map[string]graph.Value{"q": q})
	}
	b.SetBytes(int64(4 * n * dimensions))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if got := w.run(b, search, map[string]graph.Value{"q": qs[i%len(qs)]}); len(got) != 10 {
			b.Fatalf("%d rows", len(got))
		}
	}
}
