package exec

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// wiredTx is a transaction over shards of other processes.
type wiredTx struct{ shard.Tx }

func (wiredTx) Wire(*graph.Wire) {}

// A profiled step is charged for the edges that it went over, which nobody asks for in other runs.
func TestTallyChargesSteps(t *testing.T) {
	tx, _ := newCSR(rand.New(rand.NewPCG(1, 1)), 100, 1000)
	var from, to graph.VertexSet
	want := 0
	for v := range graph.VertexID(10) {
		from.Add(v)
		want += tx.out.offsets[v+1] - tx.out.offsets[v]
	}
	tally := &tallyTx{Tx: wiredTx{tx}}
	require.NoError(t, tally.Step(context.Background(), &from, nil, graph.Out, &to))
	require.Equal(t, 1, tx.requests)
	tally.r = &run{stats: make([]Stat, 1)}
	require.NoError(t, tally.Step(context.Background(), &from, nil, graph.Out, &to))
	require.Equal(t, Stat{Requests: 1, Edges: int64(want)}, tally.r.stats[0])
	require.EqualValues(t, 2, tally.n[requestStep])
}
