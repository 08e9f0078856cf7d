package exec

import (
	"testing"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// benchmarkSearch pulls all rows of a plan over the benchmarks' graph.
func benchmarkSearch(b *testing.B, build func(q *plan.Query, from plan.Col) plan.Node) {
	tx, g := social()
	q := &plan.Query{}
	q.Root = build(q, q.NewCol("a", graph.VertexKind))
	op, _ := overStarts(b, q, g, tx, []graph.VertexID{benchStart})
	b.ReportAllocs()
	rows := 0
	for b.Loop() {
		rows = pullAll(b, op)
	}
	if rows == 0 {
		b.Fatal("no rows")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
}

func benchmarkTraverse(b *testing.B, mode plan.TraverseMode, hops int) {
	benchmarkSearch(b, func(q *plan.Query, from plan.Col) plan.Node {
		n := &plan.Traverse{Input: &plan.Scan{Input: &plan.Unit{}, Out: from}, From: from, Mode: mode, Min: 1, Vertex: q.NewCol("v", graph.VertexKind)}
		for range hops {
			n.Hops = append(n.Hops, plan.TraverseHop{Types: []string{"R"}})
		}
		q.Out = []plan.Col{n.Vertex}
		return n
	})
}

func BenchmarkTraverseNearest(b *testing.B)  { benchmarkTraverse(b, plan.ModeNearest, 4) }
func BenchmarkTraverseFrontier(b *testing.B) { benchmarkTraverse(b, plan.ModeFrontier, 3) }
func BenchmarkTraverseTrail(b *testing.B)    { benchmarkTraverse(b, plan.ModeTrail, 3) }

// BenchmarkCheapest finds a cheapest path back along each of some edges.
func BenchmarkCheapest(b *testing.B) {
	benchmarkSearch(b, func(q *plan.Query, from plan.Col) plan.Node {
		to, p := q.NewCol("b", graph.VertexKind), q.NewCol("p", graph.PathKind)
		q.Out = []plan.Col{p}
		return &plan.CheapestPaths{
			Input: &plan.Expand{Input: &plan.Scan{Input: &plan.Unit{}, Out: from}, From: from, To: to, Types: []string{"R"}},
			From:  to, To: from, Path: p, Types: []string{"R"}, K: 1, MaxHops: 4,
		}
	})
}

// BenchmarkFindPaths finds a shortest path to each vertex within two hops.
func BenchmarkFindPaths(b *testing.B) {
	benchmarkSearch(b, func(q *plan.Query, from plan.Col) plan.Node {
		to, edges, edge := q.NewCol("b", graph.VertexKind), q.NewCol("r", graph.List), q.NewCol("e", graph.EdgeKind)
		nodes := []plan.Col{q.NewCol("x", graph.VertexKind), q.NewCol("y", graph.VertexKind)}
		q.Out = []plan.Col{to}
		return &plan.FindPaths{
			Input: &plan.Scan{Input: &plan.Unit{}, Out: from}, From: from, To: to, Edges: edges,
			Walk: &plan.Walk{Select: plan.SelectPaths, Parts: []plan.WalkPart{{
				Repeat: true, Min: intConst(1), Max: intConst(2), Edges: edges, Nodes: nodes, Hops: []plan.WalkHop{{Edge: edge, Types: []string{"R"}}},
			}}},
		}
	})
}
