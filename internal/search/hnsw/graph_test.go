package hnsw_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
	"github.com/hopgate/hopgate/internal/search/hnsw"
)

// clustered makes packed vectors around some centres.
func clustered(rng *rand.Rand, n, dimensions, clusters int) [][]float32 {
	centres := make([][]float64, clusters)
	for c := range centres {
		centres[c] = make([]float64, dimensions)
		for i := range centres[c] {
			centres[c][i] = rng.NormFloat64()
		}
	}
	out := make([][]float32, n)
	for k := range out {
		out[k] = make([]float32, vector.Stride(dimensions))
		c := centres[rng.IntN(clusters)]
		for i := range dimensions {
			out[k][i] = float32(c[i] + 0.5*rng.NormFloat64())
		}
	}
	return out
}

func onHeap(n int) ([]byte, bool) { return make([]byte, n), true }

func probeOf(t testing.TB, by graph.Similarity, x []float32) *vector.Probe {
	var p vector.Probe
	require.True(t, p.SetCoordinates(by, x))
	return &p
}

// exact returns the k best rows, as a scan finds them.
func exact(p *vector.Probe, xs [][]float32, k int) []uint32 {
	type hit struct {
		row   uint32
		score float64
	}
	var hits []hit
	for row, x := range xs {
		score, _ := p.Packed(x, vector.Length(x))
		hits = append(hits, hit{uint32(row), score})
	}
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.row, b.row)) })
	var rows []uint32
	for _, h := range hits[:k] {
		rows = append(rows, h.row)
	}
	return rows
}

// recall is the part of the 10 nearest rows that searches find, over some queries near the vectors: the 10 nearest that a search returns, or in a
// quantized graph the 10 most similar of the first 40.
func recall(t testing.TB, g *hnsw.Graph, by graph.Similarity, xs [][]float32, dimensions, ef int, quantized bool) float64 {
	rng := rand.New(rand.NewPCG(5, 6))
	var s hnsw.Searcher
	found, wanted := 0, 0
	for range 100 {
		q := slices.Clone(xs[rng.IntN(len(xs))][:dimensions])
		for i := range q {
			q[i] += float32(0.02 * rng.NormFloat64())
		}
		p := probeOf(t, by, q)
		near, ok := s.Search(g, p, ef)
		require.True(t, ok)
		require.True(t, slices.IsSortedFunc(near, func(a, b hnsw.Near) int { return cmp.Compare(a.Distance, b.Distance) }))
		if quantized {
			near = slices.Clone(near[:min(40, len(near))])
			for i := range near {
				x := xs[near[i].Row]
				score, _ := p.Packed(x, vector.Length(x))
				near[i].Distance = float32(1 - score)
			}
			slices.SortFunc(near, func(a, b hnsw.Near) int { return cmp.Compare(a.Distance, b.Distance) })
		}
		var got []uint32
		for _, n := range near[:min(10, len(near))] {
			got = append(got, n.Row)
		}
		for _, row := range exact(p, xs, 10) {
			wanted++
			if slices.Contains(got, row) {
				found++
			}
		}
	}
	return float64(found) / float64(wanted)
}

func build(t testing.TB, o hnsw.Options, xs [][]float32) *hnsw.Graph {
	g := hnsw.New(o)
	var s hnsw.Searcher
	for i, x := range xs {
		row, ok := g.Append(x, vector.Length(x), uint32(i)*3)
		require.True(t, ok)
		require.Equal(t, uint32(i), row)
		g.Link(row, &s)
	}
	return g
}

// TestRecall finds at least 95 of 100 nearest vectors, and the scores of a scan.
func TestRecall(t *testing.T) {
	const dimensions = 40
	rng := rand.New(rand.NewPCG(1, 2))
	xs := clustered(rng, 2000, dimensions, 25)
	for _, by := range []graph.Similarity{graph.Cosine, graph.Euclidean} {
		for _, m := range []int{4, 16} {
			if testing.Short() && (by == graph.Cosine) != (m == 4) {
				continue // both measures and both degrees are tested by the two others
			}
			g := build(t, hnsw.Options{Similarity: by, Dimensions: dimensions, M: m, EfConstruction: 100, Alloc: onHeap}, xs)
			got := recall(t, g, by, xs, dimensions, 100, false)
			require.GreaterOrEqual(t, got, 0.95, "%s, m %d", by, m)
			p := probeOf(t, by, xs[7][:dimensions])
			var s hnsw.Searcher
			near, ok := s.Search(g, p, 10)
			require.True(t, ok)
			require.Equal(t, uint32(7), near[0].Row)
			require.Less(t, s.Compared, len(xs)/2)
			for _, n := range near {
				score, ok := g.Score(p, n.Row)
				require.True(t, ok)
				want, _ := p.Packed(xs[n.Row], vector.Length(xs[n.Row]))
				require.Equal(t, want, score)
				require.Equal(t, n.Row*3, g.ID(n.Row))
				require.True(t, g.Holds(n.Row, xs[n.Row]))
				require.False(t, g.Holds(n.Row, xs[(n.Row+1)%uint32(len(xs))]))
			}
		}
	}
}

// TestClusters finds vectors by few links and few rows kept: a walk that keeps one row at the levels above the lowest ends in a wrong cluster, and
// finds 74 of 100.
func TestClusters(t *testing.T) {
	const dimensions = 64
	xs := clustered(rand.New(rand.NewPCG(7, 8)), 8000, dimensions, 50)
	g := build(t, hnsw.Options{Similarity: graph.Cosine, Dimensions: dimensions, M: 8, EfConstruction: 16, Alloc: onHeap}, xs)
	require.GreaterOrEqual(t, recall(t, g, graph.Cosine, xs, dimensions, 10, false), 0.9)
}

// TestQuantized finds at least 95 of 100 nearest vectors by their codes, in a graph of a quarter of the bytes a vector, which takes vectors of
// any lengths and tells those apart whose codes differ.
func TestQuantized(t *testing.T) {
	const dimensions = 96
	for _, by := range []graph.Similarity{graph.Cosine, graph.Euclidean} {
		for _, length := range []float32{1, 1e-13, 1e12} {
			n := 300
			if length == 1 {
				n = 1500 // of which some can be missed
			}
			xs := clustered(rand.New(rand.NewPCG(1, 2)), n, dimensions, 25)
			for _, x := range xs {
				for i := range x {
					x[i] *= length
				}
			}
			o := hnsw.Options{Similarity: by, Dimensions: dimensions, M: 16, EfConstruction: 100, Alloc: onHeap}
			whole := hnsw.New(o)
			o.Quantized = true
			g := build(t, o, xs)
			require.Equal(t, dimensions, g.VectorBytes())
			require.Equal(t, 4*dimensions, whole.VectorBytes())
			if length == 1 {
				require.GreaterOrEqual(t, recall(t, g, by, xs, dimensions, 100, true), 0.95, by)
			}
			var s hnsw.Searcher
			found := 0
			for row, x := range xs[:50] {
				near, ok := s.Search(g, probeOf(t, by, x[:dimensions]), 20)
				require.True(t, ok)
				if near[0].Row == uint32(row) {
					found++
				}
				require.True(t, g.Holds(uint32(row), x))
				require.False(t, g.Holds(uint32(row), xs[row+1]))
			}
			require.GreaterOrEqual(t, found, 49, "%s, %g", by, length)
		}
	}
}

// TestQuantizedZero compares zeros by their distance, which has no direction.
func TestQuantizedZero(t *testing.T) {
	xs := clustered(rand.New(rand.NewPCG(1, 2)), 50, 3, 2)
	clear(xs[9])
	g := build(t, hnsw.Options{Similarity: graph.Euclidean, Dimensions: 3, M: 8, EfConstruction: 20, Quantized: true, Alloc: onHeap}, xs)
	var s hnsw.Searcher
	near, ok := s.Search(g, probeOf(t, graph.Euclidean, []float32{0, 0, 0}), 5)
	require.True(t, ok)
	require.Equal(t, hnsw.Near{Row: 9}, near[0])
}

// TestSameGraph builds the same graph of the same rows.
func TestSameGraph(t *testing.T) {
	xs := clustered(rand.New(rand.NewPCG(1, 2)), 500, 16, 20)
	o := hnsw.Options{Dimensions: 16, M: 6, EfConstruction: 40, Alloc: onHeap}
	a, b := build(t, o, xs), build(t, o, xs)
	var s, u hnsw.Searcher
	for _, x := range xs[:50] {
		p := probeOf(t, graph.Cosine, x[:16])
		one, _ := s.Search(a, p, 20)
		two, _ := u.Search(b, p, 20)
		require.Equal(t, one, two)
	}
}

// TestTwins finds as many rows as are asked for among equal vectors.
func TestTwins(t *testing.T) {
	x := make([]float32, 32)
	x[3] = 2
	xs := make([][]float32, 300)
	for i := range xs {
		xs[i] = x
	}
	for _, quantized := range []bool{false, true} {
		g := build(t, hnsw.Options{Dimensions: 5, M: 8, EfConstruction: 50, Quantized: quantized, Alloc: onHeap}, xs)
		var s hnsw.Searcher
		near, ok := s.Search(g, probeOf(t, graph.Cosine, x[:5]), 60)
		require.True(t, ok)
		require.Len(t, near, 60)
	}
}

// TestConcurrent links rows on several goroutines while others search, and has lost none of them at the end.
func TestConcurrent(t *testing.T) {
	const dimensions = 24
	xs := clustered(rand.New(rand.NewPCG(3, 4)), 1500, dimensions, 15)
	g := hnsw.New(hnsw.Options{Dimensions: dimensions, M: 8, EfConstruction: 60, Alloc: onHeap})
	rows := make(chan uint32, 64)
	var linkers, searchers sync.WaitGroup
	var linked atomic.Bool
	for range 3 {
		linkers.Go(func() {
			var s hnsw.Searcher
			for row := range rows {
				g.Link(row, &s)
			}
		})
	}
	for k := range 2 {
		searchers.Go(func() {
			var s hnsw.Searcher
			for i := k; !linked.Load(); i++ {
				x := xs[i%len(xs)]
				near, ok := s.Search(g, probeOf(t, graph.Cosine, x[:dimensions]), 20)
				if !ok || len(near) > 20 {
					t.Error("a search failed")
				}
			}
		})
	}
	for i, x := range xs {
		row, ok := g.Append(x, vector.Length(x), uint32(i))
		if !ok {
			t.Error("no memory")
		}
		rows <- row
	}
	close(rows)
	linkers.Wait()
	linked.Store(true)
	searchers.Wait()
	require.Equal(t, len(xs), g.Rows())
	require.GreaterOrEqual(t, recall(t, g, graph.Cosine, xs, dimensions, 100, false), 0.95)
}

func TestNoMemory(t *testing.T) {
	for _, quantized := range []bool{false, true} {
		noMemory(t, quantized)
	}
}

// noMemory leaves a graph as it was when there is no memory, and estimates what it takes.
func noMemory(t *testing.T, quantized bool) {
	xs := clustered(rand.New(rand.NewPCG(3, 4)), 2500, 8, 10)
	taken := 0
	limit := 1 << 30
	o := hnsw.Options{Dimensions: 8, M: 8, EfConstruction: 20, Quantized: quantized, Alloc: func(n int) ([]byte, bool) {
		if taken+n > limit {
			return nil, false
		}
		taken += n
		return make([]byte, n), true
	}}
	g := build(t, o, xs)
	require.InEpsilon(t, taken, hnsw.Bytes(&o, len(xs)), 0.2)
	limit = taken
	var s hnsw.Searcher
	for {
		row, ok := g.Append(xs[0], vector.Length(xs[0]), 0)
		if !ok {
			break
		}
		g.Link(row, &s)
	}
	rows := g.Rows()
	require.Greater(t, rows, len(xs))
	_, ok := g.Append(xs[0], 1, 0)
	require.False(t, ok)
	require.Equal(t, rows, g.Rows())
	near, ok := s.Search(g, probeOf(t, graph.Cosine, xs[1][:8]), 5)
	require.True(t, ok)
	require.Len(t, near, 5)
}

// TestFits refuses what the arithmetic cannot tell apart.
func TestFits(t *testing.T) {
	g := build(t, hnsw.Options{Dimensions: 3, M: 8, EfConstruction: 20, Alloc: onHeap}, clustered(rand.New(rand.NewPCG(3, 4)), 20, 3, 2))
	var s hnsw.Searcher
	for _, x := range [][]float32{{1e30, 1, 1}, {1e-30, 0, 0}} {
		require.False(t, hnsw.Fits(graph.Cosine, vector.Length(append(slices.Clone(x), make([]float32, 29)...))))
		_, ok := s.Search(g, probeOf(t, graph.Cosine, x), 5)
		require.False(t, ok)
	}
	empty := hnsw.New(hnsw.Options{Dimensions: 3, M: 8, EfConstruction: 20, Alloc: onHeap})
	near, ok := s.Search(empty, probeOf(t, graph.Cosine, []float32{1, 2, 3}), 5)
	require.True(t, ok)
	require.Empty(t, near)
}

// BenchmarkSearch finds the 10 nearest of 20,000 vectors.
func BenchmarkSearch(b *testing.B) {
	const dimensions = 128
	xs := clustered(rand.New(rand.NewPCG(1, 2)), 20000, dimensions, 200)
	for _, quantized := range []bool{false, true} {
		o := hnsw.Options{Dimensions: dimensions, M: 16, EfConstruction: 100, Alloc: onHeap, Quantized: quantized}
		g := build(b, o, xs)
		for _, ef := range []int{50, 100, 200} {
			b.Run(fmt.Sprintf("quantized=%t/ef%d", quantized, ef), func(b *testing.B) {
				var s hnsw.Searcher
				var p vector.Probe
				compared := 0
				for i := 0; b.Loop(); i++ {
					p.SetCoordinates(graph.Cosine, xs[i%len(xs)][:dimensions])
					s.Search(g, &p, ef)
					compared += s.Compared
				}
				b.ReportMetric(recall(b, g, graph.Cosine, xs, dimensions, ef, quantized), "recall")
				b.ReportMetric(float64(compared)/float64(b.N), "compared")
				b.ReportMetric(float64(hnsw.Bytes(&o, len(xs)))/float64(len(xs)), "B/vector")
			})
		}
	}
}
