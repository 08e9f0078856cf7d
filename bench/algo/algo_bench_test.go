package algo

import (
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"github.com/hopgate/hopgate/bench/csr"
	"github.com/hopgate/hopgate/bench/network"
	"github.com/hopgate/hopgate/internal/query"
)

func TestMain(m *testing.M) {
	code := m.Run()
	network.Close()
	os.Exit(code)
}

// turned returns the in-neighbours of a graph.
func turned(g *csr.Graph) *csr.Graph {
	src, dst := make([]uint32, 0, len(g.Targets)), make([]uint32, 0, len(g.Targets))
	for v := range len(g.Offsets) - 1 {
		for _, u := range g.Targets[g.Offsets[v]:g.Offsets[v+1]] {
			src, dst = append(src, u), append(dst, uint32(v))
		}
	}
	return csr.New(len(g.Offsets)-1, src, dst)
}

// ranks is PageRank over bare arrays by one thread.
func ranks(out, in *csr.Graph, iterations int) []float64 {
	n := len(in.Offsets) - 1
	rank, share := make([]float64, n), make([]float64, n)
	for v := range rank {
		rank[v] = 1 / float64(n)
	}
	for range iterations {
		lost := 0.0
		for v := range rank {
			if d := out.Offsets[v+1] - out.Offsets[v]; d == 0 {
				lost += rank[v]
			} else {
				share[v] = rank[v] / float64(d)
			}
		}
		base := 0.15/float64(n) + 0.85*lost/float64(n)
		for v := range rank {
			sum := 0.0
			for _, u := range in.Targets[in.Offsets[v]:in.Offsets[v+1]] {
				sum += share[u]
			}
			rank[v] = base + 0.85*sum
		}
	}
	return rank
}

// ask runs a call and adds up its results.
func ask(b testing.TB, n *network.Network, call, result string) float64 {
	b.Helper()
	res, err := n.Engine.Query(b.Context(), query.Request{Statement: "CALL " + call + " YIELD " + result + " RETURN sum(" + result + "), max(" + result + ")"})
	if err != nil {
		b.Fatal(err)
	}
	defer res.Close()
	batch, err := res.Next()
	if err != nil {
		b.Fatal(err)
	}
	return batch.Cols[1].Value(0).Number()
}

// edgeRate reports the edges a second of an iteration: what a run with iterations takes longer than one without.
func edgeRate(b *testing.B, edges int, run func(iterations int)) {
	const iterations = 10
	var none, some time.Duration
	run(0) // which fills the caches
	for b.Loop() {
		start := time.Now()
		run(0)
		middle := time.Now()
		run(iterations)
		none += middle.Sub(start)
		some += time.Since(middle)
	}
	b.ReportMetric(float64(b.N*iterations*edges)/(some-none).Seconds()/1e6, "Medges/s")
	b.ReportMetric(none.Seconds()*1e3/float64(b.N), "ms-read")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkPageRank compares an iteration with one over bare arrays.
func BenchmarkPageRank(b *testing.B) {
	n := network.Open(b, network.Persons(b))
	in := turned(n.Knows)
	b.Run("csr", func(b *testing.B) { edgeRate(b, n.Edges, func(i int) { ranks(n.Knows, in, i) }) })
	b.Run("engine", func(b *testing.B) {
		want := 0.0
		for _, r := range ranks(n.Knows, in, 20) {
			want = max(want, r)
		}
		if have := ask(b, n, "algo.pageRank({labels: 'Person', types: 'KNOWS'})", "rank"); math.Abs(have-want) > 1e-12 {
			b.Fatalf("the greatest rank is %g, not %g", have, want)
		}
		edgeRate(b, n.Edges, func(i int) {
			ask(b, n, fmt.Sprintf("algo.pageRank({labels: 'Person', types: 'KNOWS', maxIterations: %d})", i), "rank")
		})
	})
}

// BenchmarkCDLP measures an iteration, in which each edge counts at both its ends.
func BenchmarkCDLP(b *testing.B) {
	n := network.Open(b, network.Persons(b))
	edgeRate(b, 2*n.Edges, func(i int) {
		ask(b, n, fmt.Sprintf("algo.cdlp({labels: 'Person', types: 'KNOWS', maxIterations: %d})", i), "community")
	})
}

// BenchmarkWhole measures whole calls.
func BenchmarkWhole(b *testing.B) {
	n := network.Open(b, network.Persons(b))
	for _, c := range []struct{ call, result string }{
		{"wcc", "component"}, {"scc", "component"}, {"triangleCount", "triangles"}, {"lcc", "coefficient"}, {"kCore", "core"}, {"louvain", "community"},
	} {
		b.Run(c.call, func(b *testing.B) {
			for b.Loop() {
				ask(b, n, "algo."+c.call+"({labels: 'Person', types: 'KNOWS'})", c.result)
			}
		})
	}
	for _, c := range []string{"bfs", "sssp"} {
		b.Run(c, func(b *testing.B) {
			for b.Loop() {
				res, err := n.Engine.Query(b.Context(), query.Request{
					Statement: "MATCH (s:Person {id: 1}) CALL algo." + c + "({types: 'KNOWS', source: s}) YIELD distance RETURN max(distance)",
				})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := res.Next(); err != nil {
					b.Fatal(err)
				}
				res.Close()
			}
		})
	}
}
