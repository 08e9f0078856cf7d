package exec

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/alloctest"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// chain returns a plan of hops from a scan: (v0)-->(v1)-->…, with distinct edges. With edges, it binds every edge.
func chain(hops int, edges bool) (*plan.Query, []plan.Col) {
	q := &plan.Query{}
	at := q.NewCol("v", graph.VertexKind)
	vertices := []plan.Col{at}
	q.Root = &plan.Scan{Input: &plan.Unit{}, Out: at}
	var before []plan.Col
	for i := range hops {
		x := &plan.Expand{Input: q.Root, From: at, To: q.NewCol("v", graph.VertexKind), Types: []string{"R"}, DistinctFrom: before}
		if edges || i+1 < hops {
			x.Edge = q.NewCol("e", graph.EdgeKind)
			before = append(slices.Clip(before), x.Edge)
			if edges {
				q.Out = append(q.Out, x.Edge)
			}
		}
		at, q.Root = x.To, x
		vertices = append(vertices, at)
	}
	q.Out = append(q.Out, at)
	return q, vertices
}

// Expansions allocate nothing once their buffers have grown. Requested edges are allocated a slab at a time.
func TestExpandAllocatesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	tx, g := newCSR(rng, 2000, 20000)
	var ids []graph.VertexID
	for i := range 300 {
		ids = append(ids, graph.VertexID(rng.IntN(2000)+i-i))
	}
	q, _ := chain(2, false)
	op, _ := overStarts(t, q, g, tx, ids)
	rows := pullAll(t, op)
	require.Greater(t, rows, 10_000)
	require.Zero(t, alloctest.Least(5, func() { pullAll(t, op) }))

	q, _ = chain(2, true)
	op, _ = overStarts(t, q, g, tx, ids)
	require.Equal(t, rows, pullAll(t, op))
	batches := float64(rows)/graph.BatchSize + 2
	require.Less(t, alloctest.Least(5, func() { pullAll(t, op) }), 3*batches)

	q, vertices := chain(1, false)
	q.Root = &plan.Expand{Input: q.Root, From: vertices[1], To: vertices[0], Into: true, Dir: graph.In, Types: []string{"R"}}
	op, _ = overStarts(t, q, g, tx, ids)
	require.NotZero(t, pullAll(t, op))
	require.Zero(t, alloctest.Least(5, func() { pullAll(t, op) }))
}

// Each hop costs one request an input batch, not one a row.
func TestExpandAsksOnceABatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	tx, g := newCSR(rng, 2000, 4000)
	var ids []graph.VertexID
	for range graph.BatchSize {
		ids = append(ids, graph.VertexID(rng.IntN(2000)))
	}
	q, _ := chain(1, false)
	op, _ := overStarts(t, q, g, tx, ids)
	pullAll(t, op)
	require.Equal(t, 1, tx.requests)
}
