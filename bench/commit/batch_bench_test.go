package commit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// The graph of BenchmarkBatch and the rows of its statements.
const (
	batchVertices = 200_000
	batchRows     = 5_000
)

// batches are the statements of BenchmarkBatch, with what makes and removes what they need, which is not measured.
var batches = []struct{ name, before, statement, after string }{
	{name: "match-create", statement: "UNWIND $rows AS r MATCH (a:K {id: r.a}) MATCH (b:K {id: r.b}) CREATE (a)-[:C]->(b)"},
	{name: "match-merge", statement: "UNWIND $rows AS r MATCH (a:K {id: r.a}) MATCH (b:K {id: r.b}) MERGE (a)-[:C]->(b)"},
	{name: "merge-merge", statement: "UNWIND $rows AS r MERGE (a:K {id: r.a}) MERGE (b:K {id: r.b}) MERGE (a)-[:C]->(b)"},
	{name: "set", statement: "UNWIND $rows AS r MATCH (n:K {id: r.a}) SET n += {name: r.name, age: r.b}"},
	{name: "set-map", statement: "UNWIND $rows AS r MATCH (n:K {id: r.a}) SET n += r.props"},
	{name: "set-row", statement: "UNWIND $rows AS r WITH {id: r.id, name: r.name, age: r.b} AS r MATCH (n:K {id: r.id}) SET n += r"},
	{
		name:      "delete",
		before:    "UNWIND $rows AS r MATCH (a:K {id: r.a}) MATCH (b:K {id: r.b}) CREATE (a)-[:D]->(b)",
		statement: "UNWIND $rows AS r MATCH (a:K {id: r.a})-[d:D]->(b:K {id: r.b}) DELETE d",
	},
}

// BenchmarkBatch runs statements with rows over a graph with a commit log and reports processor time a row.
func BenchmarkBatch(b *testing.B) {
	ctx := context.Background()
	w := open(b, local.Options{Dir: b.TempDir(), LogBytes: 1 << 30})
	if err := w.g.CreateIndex(ctx, graph.Index{Label: "K", Props: []string{"id"}, Unique: true, Indexed: true}); err != nil {
		b.Fatal(err)
	}
	for i := 0; i < batchVertices; i += batchRows {
		run(b, w.e, "UNWIND range($from, $from + $n - 1) AS i CREATE (:K {id: i, name: 'person ' + i, age: i % 100})", map[string]graph.Value{
			"from": graph.IntValue(int64(i)), "n": graph.IntValue(batchRows),
		})
	}
	settle := func() {
		if err := w.g.(*local.Graph).Settle(ctx); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.g.(*local.Graph).ChangeLog().SetLogMode(ctx, changelog.Diff); err != nil {
		b.Fatal(err)
	}
	for _, s := range batches {
		b.Run(s.name, func(b *testing.B) {
			settle()
			rnd := rand.New(rand.NewPCG(1, 2))
			var spent int64
			for range b.N {
				rows := map[string]graph.Value{"rows": batch(rnd)}
				if s.before != "" {
					run(b, w.e, s.before, rows)
					settle()
				}
				start := processor(b)
				run(b, w.e, s.statement, rows)
				spent += (processor(b) - start).Nanoseconds()
			}
			b.ReportMetric(float64(spent)/1e3/float64(b.N*batchRows), "cpu-µs/row")
		})
	}
}

// batch makes the rows of a statement.
func batch(rnd *rand.Rand) graph.Value {
	rows := make([]graph.Value, batchRows)
	for i := range rows {
		a, c := graph.IntValue(rnd.Int64N(batchVertices)), graph.IntValue(rnd.Int64N(batchVertices))
		name := graph.StringValue(fmt.Sprint("renamed ", i))
		rows[i] = graph.MapValue([]graph.MapEntry{
			{Key: "a", Value: a},
			{Key: "b", Value: c},
			{Key: "id", Value: a},
			{Key: "name", Value: name},
			{Key: "props", Value: graph.MapValue([]graph.MapEntry{{Key: "age", Value: c}, {Key: "name", Value: name}})},
		})
	}
	return graph.ListValue(rows)
}
