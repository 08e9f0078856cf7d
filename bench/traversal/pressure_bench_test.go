package traversal

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hopgate/hopgate/bench/network"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader"
)

const twoHops = "MATCH (p:Person {id: $id})-[:KNOWS]->(a)-[:KNOWS]->(q) RETURN count(DISTINCT q) AS n"

// rounds runs two hops from random people and returns the sorted times.
func rounds(b *testing.B, n *network.Network, rng *rand.Rand, count int) []time.Duration {
	times := make([]time.Duration, count)
	for i := range times {
		from := 1 + rng.Int64N(int64(n.Persons))
		start := time.Now()
		ask(b, n.Engine, twoHops, from)
		times[i] = time.Since(start)
	}
	slices.Sort(times)
	return times
}

// BenchmarkBudget counts what two hops reach from random people with all lists cached, with none, and with memory for a tenth of them, and
// reports the mean CPU time of each. over relates the last one to the first plus the cost of its share of misses.
// blocks that were not found had cost what they do with none.
func BenchmarkBudget(b *testing.B) {
	n := network.Open(b, network.Persons(b))
	rng := rand.New(rand.NewPCG(1, 1))
	b.Cleanup(func() { n.Store.SetTopologyBytes(1 << 30) })
	ask(b, n.Engine, "MATCH (p:Person)-[:KNOWS]->(a)-[:KNOWS]->(q) RETURN count(DISTINCT q) AS n", 1) // decodes all lists
	const count = 2000
	type measured struct{ mean, miss float64 } // µs, and the share of blocks that were not found
	measure := func() measured {
		rounds(b, n, rng, count)
		before, start := n.Store.TopologyStats(), processorTime(b)
		rounds(b, n, rng, count)
		after, took := n.Store.TopologyStats(), processorTime(b)-start
		hits, misses := after.Hits-before.Hits, after.Misses-before.Misses
		return measured{float64(took.Nanoseconds()) / 1e3 / count, float64(misses) / max(1, float64(hits+misses))}
	}
	for range b.N {
		all := measure()
		whole := n.Store.TopologyStats().Used
		n.Store.SetTopologyBytes(0)
		none := measure()
		n.Store.SetTopologyBytes(int64(whole / 10))
		tenth := measure()
		n.Store.SetTopologyBytes(1 << 30)
		ask(b, n.Engine, "MATCH (p:Person)-[:KNOWS]->(a)-[:KNOWS]->(q) RETURN count(DISTINCT q) AS n", 1)
		b.ReportMetric(float64(whole)/(1<<20), "decoded-MiB")
		b.ReportMetric(all.mean, "all-µs")
		b.ReportMetric(none.mean, "none-µs")
		b.ReportMetric(tenth.mean, "tenth-µs")
		b.ReportMetric(tenth.miss, "tenth-miss")
		b.ReportMetric(tenth.mean/(all.mean+tenth.miss*(none.mean-all.mean)), "over")
	}
}

// BenchmarkBesideLoad counts what two hops reach from random people, alternately without writers and beside a load of people and edges at
// full speed, and reports the 99th percentile of each.
func BenchmarkBesideLoad(b *testing.B) {
	n := network.Open(b, network.Persons(b))
	rng := rand.New(rand.NewPCG(2, 2))
	// Each run of the benchmark needs a stream of its own, because a load skips batches that its stream has already applied.
	loads++
	session, err := loader.New(n.Store).Begin(b.Context(), loader.Open{
		Stream: fmt.Sprintf("beside-%d", loads), Spaces: []loader.Space{{Name: "Person", Label: "Person", Property: "id"}},
	})
	if err != nil {
		b.Fatal(err)
	}
	l := growth{session: session, next: loads << 32}
	rounds(b, n, rng, 2000)
	var quiet, beside []time.Duration
	const count = 20_000
	for range b.N {
		quiet = append(quiet, rounds(b, n, rng, count)...)
		ctx, stop := context.WithCancel(b.Context())
		done := make(chan error)
		go func() { done <- l.run(ctx) }()
		beside = append(beside, rounds(b, n, rng, count)...)
		stop()
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	p99 := func(times []time.Duration) float64 {
		slices.Sort(times)
		return float64(times[len(times)*99/100].Nanoseconds()) / 1e3
	}
	b.ReportMetric(p99(quiet), "quiet-p99-µs")
	b.ReportMetric(p99(beside), "beside-p99-µs")
	b.ReportMetric(p99(beside)/p99(quiet), "ratio")
	b.ReportMetric(float64(l.rows)/l.took.Seconds(), "rows/s")
}

var loads int64

// growth loads new people with edges among them, batch by batch.
type growth struct {
	session *loader.Session
	seq     uint64
	next    int64 // key
	rows    int
	took    time.Duration
}

func (l *growth) run(ctx context.Context) error {
	const people, degree = 2000, 10
	rng := rand.New(rand.NewPCG(3, uint64(l.next)))
	start := time.Now()
	defer func() { l.took += time.Since(start) }()
	for ctx.Err() == nil {
		keys := loader.PropertyColumn{Name: "id"}
		edges := loader.EdgeRows{Type: "KNOWS", Props: []loader.PropertyColumn{{Name: "creationDate"}}}
		for i := range people {
			key := graph.IntValue(l.next + int64(i))
			keys.Values = append(keys.Values, key)
			for range degree {
				edges.Src = append(edges.Src, key)
				edges.Dst = append(edges.Dst, graph.IntValue(l.next+rng.Int64N(people)))
				edges.Props[0].Values = append(edges.Props[0].Values, graph.IntValue(rng.Int64()>>20))
			}
		}
		l.next += people
		for _, batch := range []*loader.Batch{
			{Vertices: []loader.VertexRows{{Labels: []string{"Person"}, Keys: keys.Values, Props: []loader.PropertyColumn{keys}}}},
			{Edges: []loader.EdgeRows{edges}},
		} {
			l.seq++
			batch.Seq = l.seq
			if _, err := l.session.Apply(context.WithoutCancel(ctx), []*loader.Batch{batch}); err != nil {
				return err
			}
		}
		l.rows += people * (1 + degree)
	}
	return nil
}
