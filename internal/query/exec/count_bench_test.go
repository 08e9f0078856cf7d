package exec

import (
	"testing"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// benchmarkCount counts the pairs of edges from each of many vertices: as rows, by an aggregate over path multiplicities, and by a
// MultiplicityCount.
func benchmarkCount(b *testing.B, build func(q *plan.Query, from plan.Col) plan.Node) {
	tx, g := social()
	q := &plan.Query{}
	n := build(q, q.NewCol("a", graph.VertexKind))
	q.Root = n
	var ids []graph.VertexID
	for v := range graph.VertexID(2000) {
		ids = append(ids, 98_000+v) // few edges lead on from here
	}
	op, _ := overStarts(b, q, g, tx, ids)
	b.ReportAllocs()
	for b.Loop() {
		pullAll(b, op)
		op.Close() // forgets the multiplicities
	}
}

func countOf(q *plan.Query, input plan.Node, times plan.Expr) plan.Node {
	n := q.NewCol("n", graph.Null)
	q.Out = []plan.Col{n}
	return &plan.Aggregate{Input: input, Aggs: []plan.Agg{{Col: n, Func: "count"}}, Times: times}
}

// edgePairs is the multiplicity of a vertex in pairs of edges.
func edgePairs(from plan.Col) plan.Multiplicity {
	hop := plan.Branch{Types: []string{"R"}}
	return plan.Multiplicity{Col: from, Branches: []plan.Branch{hop, hop}}
}

func BenchmarkCountRows(b *testing.B) {
	benchmarkCount(b, func(q *plan.Query, from plan.Col) plan.Node {
		var in plan.Node = &plan.Scan{Input: &plan.Unit{}, Out: from}
		for range 2 {
			in = &plan.Expand{Input: in, From: from, To: q.NewCol("v", graph.VertexKind), Types: []string{"R"}}
		}
		return countOf(q, in, nil)
	})
}

func BenchmarkCountMultiplicity(b *testing.B) {
	benchmarkCount(b, func(q *plan.Query, from plan.Col) plan.Node {
		n := q.NewCol("m", graph.Null)
		in := &plan.PathMultiplicity{Input: &plan.Scan{Input: &plan.Unit{}, Out: from}, Multiplicity: edgePairs(from), Out: n}
		return countOf(q, in, &plan.ColRef{Col: n})
	})
}

func BenchmarkCountFold(b *testing.B) {
	benchmarkCount(b, func(q *plan.Query, from plan.Col) plan.Node {
		n := q.NewCol("n", graph.Null)
		q.Out = []plan.Col{n}
		return &plan.MultiplicityCount{Input: &plan.Scan{Input: &plan.Unit{}, Out: from}, Multiplicities: []plan.Multiplicity{edgePairs(from)}, Out: n}
	})
}
