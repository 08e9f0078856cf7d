package local

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// BenchmarkSettle compacts what transactions have written: vertices with two properties and eighteen edges each, one
// property an edge. Its figure is for each edge, which lies in two lists.
func BenchmarkSettle(b *testing.B) {
	const people, edges, batch = 10_000, 180_000, 10_000
	ctx := context.Background()
	for b.Loop() {
		b.StopTimer()
		s, err := Open(Options{Dir: b.TempDir(), Tuning: Tuning{CompactRecords: -1}})
		if err != nil {
			b.Fatal(err)
		}
		g, err := s.Local(DefaultGraph)
		if err != nil {
			b.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, 1))
		ids := make([]graph.VertexID, 0, people)
		write := func(n int, m func(tx shard.Tx) shard.Mutation) {
			tx, err := g.Begin(ctx, shard.Write)
			if err != nil {
				b.Fatal(err)
			}
			ms := make([]shard.Mutation, n)
			for i := range ms {
				ms[i] = m(tx)
			}
			if err := tx.Apply(ctx, ms); err != nil {
				b.Fatal(err)
			}
			if err := tx.Commit(ctx); err != nil {
				b.Fatal(err)
			}
			for i := range ms {
				if ms[i].Op == shard.CreateVertex {
					ids = append(ids, ms[i].Vertex)
				}
			}
		}
		props := func(tx shard.Tx, names ...string) (ps []graph.Property) {
			for _, name := range names {
				p, err := tx.Prop(name)
				if err != nil {
					b.Fatal(err)
				}
				ps = append(ps, graph.Property{ID: p, Value: graph.IntValue(int64(rng.IntN(1 << 30)))})
			}
			return ps
		}
		write(people, func(tx shard.Tx) shard.Mutation {
			l, _ := tx.Label("Person")
			set, _ := tx.LabelSet([]graph.LabelID{l})
			return shard.Mutation{Op: shard.CreateVertex, Labels: set, Props: props(tx, "a", "b")}
		})
		for range edges / batch {
			write(batch, func(tx shard.Tx) shard.Mutation {
				t, _ := tx.Type("KNOWS")
				return shard.Mutation{
					Op: shard.CreateEdge, Props: props(tx, "since"),
					Edge: graph.Edge{Src: ids[rng.IntN(people)], Dst: ids[rng.IntN(people)], Type: t},
				}
			})
		}
		b.StartTimer()
		if err := g.Settle(ctx); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/edges, "ns/edge")
}
