package traversal

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"testing"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// BenchmarkNear counts the points within a kilometre of another, among a million in a square degree, by a point index and by a scan.
func BenchmarkNear(b *testing.B) {
	store, err := local.Open(local.Options{Dir: b.TempDir(), Shards: 1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	e := query.New(store, query.Options{})
	run := func(statement string, params map[string]graph.Value) int64 {
		res, err := e.Query(context.Background(), query.Request{Statement: statement, Params: params})
		if err != nil {
			b.Fatal(err)
		}
		defer res.Close()
		batch, err := res.Next()
		if err != nil {
			b.Fatal(err)
		}
		if batch == nil || len(batch.Cols) == 0 {
			return 0
		}
		return batch.Cols[0].Value(0).Int()
	}
	const fill = "UNWIND range(1, 50000) AS i CREATE (:P {at: point({longitude: 12 + rand(), latitude: 55 + rand()})})"
	for range 20 {
		run(fill, nil)
	}
	run("CREATE POINT INDEX FOR (n:P) ON (n.at)", nil)
	rng := rand.New(rand.NewPCG(1, 2))
	for name, at := range map[string]string{"index": "n.at", "scan": "coalesce(n.at)"} {
		b.Run(name, func(b *testing.B) {
			found := int64(0)
			for b.Loop() {
				c := graph.PointValue(graph.Point{CRS: graph.WGS84, X: 12 + rng.Float64(), Y: 55 + rng.Float64()})
				found += run("MATCH (n:P) WHERE point.distance("+at+", $c) < 1000 RETURN count(*)", map[string]graph.Value{"c": c})
			}
			b.ReportMetric(float64(found)/float64(b.N), "found/op")
		})
	}
}
