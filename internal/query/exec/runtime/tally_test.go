package runtime

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// stepping is a transaction over shards of other processes. Each of its steps visits 7 edges.
type stepping struct {
	shard.Tx
	wire  *graph.Wire
	steps int
}

func (s *stepping) Features() shard.Features { return shard.Features{Wire: s} }

func (s *stepping) Wire(w *graph.Wire) { s.wire = w }

func (s *stepping) Step(context.Context, *graph.VertexSet, []graph.TypeID, graph.Direction, *graph.VertexSet) error {
	s.steps++
	return nil
}

func (s *stepping) Degrees(_ context.Context, ids []graph.VertexID, _ []graph.TypeID, _ graph.Direction, out []int) error {
	for i := range ids {
		out[i] = 7
	}
	return nil
}

// A profiled step is charged for the edges that it visits; other runs do not count them.
func TestTallyChargesSteps(t *testing.T) {
	tx := &stepping{}
	var from, to graph.VertexSet
	for v := range graph.VertexID(10) {
		from.Add(v)
	}
	tally := &tallyTx{Tx: tx}
	require.NoError(t, tally.Step(context.Background(), &from, nil, graph.Out, &to))
	require.Equal(t, 1, tx.steps)
	tally.r = &Run{Stats: make([]Stat, 1), io: new(ioCounts)}
	require.NoError(t, tally.Step(context.Background(), &from, nil, graph.Out, &to))
	require.Equal(t, Stat{Requests: 1, Edges: 70}, tally.r.Stats[0])
	require.EqualValues(t, 2, tally.n[requestStep])
}

// A run publishes what it has read once, with what its forks have read.
func TestPublishVisits(t *testing.T) {
	var visits atomic.Int64
	r := &Run{Env: Env{Visits: &visits}}
	r.Tally.chargeList(3, 8)
	r.Join(&Run{Tally: tallyTx{visits: 4}})
	r.See(5)
	r.PublishVisits()
	r.PublishVisits()
	require.EqualValues(t, 12, visits.Load())
}
