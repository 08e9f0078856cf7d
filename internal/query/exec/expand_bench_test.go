package exec

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// social is a graph of the size of the traversal benchmarks.
var social = sync.OnceValues(func() (*csrTx, shard.Graph) {
	return newCSR(rand.New(rand.NewPCG(1, 1)), 100_000, 3_700_000)
})

const benchStart = 50_000

// walkCSR counts the vertices at the given number of hops, as a program over arrays would.
func walkCSR(t *csrTx, hops int, now, after []uint64, list, next []graph.VertexID) (int, []graph.VertexID, []graph.VertexID) {
	list = append(list[:0], benchStart)
	for range hops {
		clear(after)
		next = next[:0]
		for _, v := range list {
			for _, to := range t.out.targets[t.out.offsets[v]:t.out.offsets[v+1]] {
				if w := &after[to>>6]; *w&(1<<(to&63)) == 0 {
					*w |= 1 << (to & 63)
					next = append(next, to)
				}
			}
		}
		list, next = next, list
	}
	return len(list), list, next
}

func benchmarkArray(b *testing.B, hops int) {
	tx, _ := social()
	now, after := make([]uint64, 2000), make([]uint64, 2000)
	var list, next []graph.VertexID
	for b.Loop() {
		_, list, next = walkCSR(tx, hops, now, after, list, next)
	}
}

func BenchmarkHops3Array(b *testing.B) { benchmarkArray(b, 3) }
func BenchmarkHops5Array(b *testing.B) { benchmarkArray(b, 5) }

func benchmarkFrontier(b *testing.B, hops int, trail bool) {
	tx, g := social()
	q := &plan.Query{}
	a, n := q.NewCol("a", graph.VertexKind), q.NewCol("n", graph.Null)
	x := &plan.FrontierCount{Input: &plan.Scan{Input: &plan.Unit{}, Out: a}, From: a, Out: n, Trail: trail}
	for range hops {
		x.Hops = append(x.Hops, plan.Hop{Types: []string{"R"}})
	}
	q.Root = x
	q.Out = []plan.Col{n}
	op, _ := overStarts(b, q, g, tx, []graph.VertexID{benchStart})
	b.ReportAllocs()
	for b.Loop() {
		pullAll(b, op)
	}
}

func BenchmarkHops3Frontier(b *testing.B) { benchmarkFrontier(b, 3, false) }
func BenchmarkHops5Frontier(b *testing.B) { benchmarkFrontier(b, 5, false) }
func BenchmarkHops3Trail(b *testing.B)    { benchmarkFrontier(b, 3, true) }
func BenchmarkHops5Trail(b *testing.B)    { benchmarkFrontier(b, 5, true) }

func BenchmarkHops3Rows(b *testing.B) {
	tx, g := social()
	q, _ := chain(3, false)
	op, _ := overStarts(b, q, g, tx, []graph.VertexID{benchStart})
	b.ReportAllocs()
	rows := 0
	for b.Loop() {
		rows = pullAll(b, op)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
}

func BenchmarkHops3Distinct(b *testing.B) {
	tx, g := social()
	q, vs := chain(3, false)
	n := q.NewCol("n", graph.Null)
	q.Root = &plan.Aggregate{Input: q.Root, Aggs: []plan.Agg{{Col: n, Func: "count", Distinct: true, Args: []plan.Expr{&plan.ColRef{Col: vs[3]}}}}}
	q.Out = []plan.Col{n}
	op, _ := overStarts(b, q, g, tx, []graph.VertexID{benchStart})
	b.ReportAllocs()
	for b.Loop() {
		pullAll(b, op)
	}
}

func BenchmarkEnds3(b *testing.B) {
	tx, g := social()
	q := &plan.Query{}
	a, to := q.NewCol("a", graph.VertexKind), q.NewCol("b", graph.VertexKind)
	q.Root = &plan.VarExpand{
		Input: &plan.Scan{Input: &plan.Unit{}, Out: a}, From: a, To: to, Types: []string{"R"}, Min: intConst(1), Max: intConst(3), Ends: true,
	}
	q.Out = []plan.Col{to}
	op, _ := overStarts(b, q, g, tx, []graph.VertexID{benchStart})
	b.ReportAllocs()
	for b.Loop() {
		pullAll(b, op)
	}
}

func BenchmarkTrails3(b *testing.B) {
	tx, g := social()
	q := &plan.Query{}
	a, to := q.NewCol("a", graph.VertexKind), q.NewCol("b", graph.VertexKind)
	q.Root = &plan.VarExpand{
		Input: &plan.Scan{Input: &plan.Unit{}, Out: a}, From: a, To: to, Types: []string{"R"}, Min: intConst(3), Max: intConst(3),
	}
	q.Out = []plan.Col{to}
	op, _ := overStarts(b, q, g, tx, []graph.VertexID{benchStart})
	b.ReportAllocs()
	rows := 0
	for b.Loop() {
		rows = pullAll(b, op)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
}

func BenchmarkShortestPath(b *testing.B) {
	tx, g := social()
	q := &plan.Query{}
	a, to := q.NewCol("a", graph.VertexKind), q.NewCol("b", graph.VertexKind)
	p := q.NewCol("p", graph.PathKind)
	q.Root = &plan.ShortestPath{
		Input: &plan.Expand{Input: &plan.Scan{Input: &plan.Unit{}, Out: a}, From: a, To: to, Types: []string{"R"}},
		From:  to, To: a, Types: []string{"R"}, Min: intConst(1), Path: p,
	}
	q.Out = []plan.Col{p}
	op, _ := overStarts(b, q, g, tx, []graph.VertexID{99_999})
	b.ReportAllocs()
	rows := 0
	for b.Loop() {
		rows = pullAll(b, op)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/path")
}
