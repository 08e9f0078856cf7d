package exec

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/alloctest"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Traversals and counts of frontiers allocate nothing for a row or a vertex once their buffers have grown.
func TestTraverseAllocatesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	tx, g := newCSR(rng, 2000, 20000)
	var ids []graph.VertexID
	for range 30 {
		ids = append(ids, graph.VertexID(rng.IntN(2000)))
	}
	hop := plan.TraverseHop{Types: []string{"R"}}
	for mode, most := range map[plan.TraverseMode]float64{
		plan.ModeFrontier: 0, plan.ModeNearest: 0, plan.ModeWalk: 0, plan.ModeAcyclic: 0,
	} {
		q := &plan.Query{}
		at := q.NewCol("v", graph.VertexKind)
		n := &plan.Traverse{
			Input: &plan.Scan{Input: &plan.Unit{}, Out: at}, From: at, Mode: mode, Min: 1, Hops: []plan.TraverseHop{hop, hop},
			Vertex: q.NewCol("v", graph.VertexKind), Edge: q.NewCol("e", graph.EdgeKind),
		}
		q.Root, q.Out = n, []plan.Col{n.Vertex}
		op, _ := overStarts(t, q, g, tx, ids)
		require.Greater(t, pullAll(t, op), 1000, mode)
		require.LessOrEqual(t, alloctest.Least(5, func() { pullAll(t, op) }), most, mode)
	}
}
