package read_test

import (
	"context"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// TestMeter counts the large values that a transaction fetches and the blocks that it finds decoded, from the call on until it ends.
func TestMeter(t *testing.T) {
	ctx := context.Background()
	s, err := local.Open(local.Options{Dir: "data", FS: vfs.NewMem()})
	require.NoError(t, err)
	defer s.Close()
	g, err := s.Graph(local.DefaultGraph)
	require.NoError(t, err)
	tx, err := g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	small, err := tx.Prop("small")
	require.NoError(t, err)
	large, err := tx.Prop("large")
	require.NoError(t, err)
	ms := []shard.Mutation{{Op: shard.CreateVertex, Props: []graph.Property{
		{ID: small, Value: graph.IntValue(1)}, {ID: large, Value: graph.StringValue(strings.Repeat("x", 1<<20))},
	}}}
	require.NoError(t, tx.Apply(ctx, ms))
	require.NoError(t, tx.Commit(ctx))

	tx, err = g.Begin(ctx, shard.Read)
	require.NoError(t, err)
	defer tx.Rollback()
	read := func(p graph.PropID) {
		t.Helper()
		out := [][]graph.Value{make([]graph.Value, 1)}
		require.NoError(t, tx.Properties(ctx, []graph.VertexID{ms[0].Vertex}, []graph.PropID{p}, out))
		require.False(t, out[0][0].IsNull())
	}
	var r graph.Reads
	tx.Features().Reads.Meter(&r)
	read(large)
	require.EqualValues(t, 1, r.Large.Load())
	for range 20 {
		read(small)
	}
	blocks := r.Hits.Load() + r.Misses.Load()
	require.GreaterOrEqual(t, blocks, int64(20))
	require.Positive(t, r.Hits.Load())
	tx.Features().Reads.Meter(nil)
	read(small)
	read(large)
	require.Equal(t, blocks, r.Hits.Load()+r.Misses.Load())
	require.EqualValues(t, 1, r.Large.Load())
}
