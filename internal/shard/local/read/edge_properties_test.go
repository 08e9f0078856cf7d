package read_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// Properties of edges come from decoded lists, follow commits, and stay what they were for those who have read them, although
// the lists are decoded again and their memory is reused meanwhile.
func TestEdgePropertiesDecoded(t *testing.T) {
	s, err := local.Open(local.Options{Dir: "data", FS: vfs.NewMem(), Shards: 2})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	g, err := s.Local("default")
	require.NoError(t, err)
	ctx := context.Background()
	tx, err := g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	knows, err := tx.Type("KNOWS")
	require.NoError(t, err)
	note, err := tx.Prop("note")
	require.NoError(t, err)
	const n, m = 1000, 4000
	props := []graph.PropID{note}
	text := func(round, i int) []graph.Property {
		return []graph.Property{{ID: note, Value: graph.StringValue(fmt.Sprintf("round-%d-edge-%04d", round, i))}}
	}
	vs := make([]shard.Mutation, n)
	require.NoError(t, tx.Apply(ctx, vs))
	ms := make([]shard.Mutation, m)
	for i := range ms {
		ms[i] = shard.Mutation{
			Op: shard.CreateEdge, Edge: graph.Edge{Src: vs[i%n].Vertex, Dst: vs[(i/n+i*7)%n].Vertex, Type: knows}, Props: text(0, i),
		}
	}
	require.NoError(t, tx.Apply(ctx, ms))
	require.NoError(t, tx.Commit(ctx))
	require.NoError(t, g.Settle(ctx))
	edges := make([]graph.Edge, m)
	for i := range ms {
		edges[i] = ms[i].Edge
	}
	type reader struct {
		tx    shard.Tx
		round int
		got   [][]graph.Value
	}
	var readers []reader
	const rounds = 4
	for round := range rounds {
		if round > 0 {
			tx, err := g.Begin(ctx, shard.Write)
			require.NoError(t, err)
			for i := range ms {
				ms[i] = shard.Mutation{Op: shard.SetEdge, Edge: edges[i], Props: text(round, i)}
			}
			require.NoError(t, tx.Apply(ctx, ms[:m/2]))
			own := shard.Columns(1, m)
			require.NoError(t, tx.EdgeProperties(ctx, edges, props, own))
			require.Equal(t, text(round, 0)[0].Value.Str(), own[0][0].Str())
			require.Equal(t, text(round-1, m-1)[0].Value.Str(), own[0][m-1].Str())
			require.NoError(t, tx.Apply(ctx, ms[m/2:]))
			require.NoError(t, tx.Commit(ctx))
			require.NoError(t, g.Settle(ctx))
		}
		tx, err := g.Begin(ctx, shard.Read)
		require.NoError(t, err)
		defer tx.Rollback()
		r := reader{tx: tx, round: round, got: shard.Columns(1, m)}
		require.NoError(t, tx.EdgeProperties(ctx, edges, props, r.got))
		stats := s.Shared.Topology().Stats()
		require.NoError(t, tx.EdgeProperties(ctx, edges, props, r.got))
		require.Greater(t, s.Shared.Topology().Stats().Hits, stats.Hits)
		readers = append(readers, r)
	}
	for _, r := range readers {
		for i, v := range r.got[0] {
			require.Equal(t, text(r.round, i)[0].Value.Str(), v.Str(), "round %d", r.round)
		}
	}
	last := readers[rounds-1]
	gone := edges[0]
	gone.ID++
	out := shard.Columns(1, 2)
	require.NoError(t, last.tx.EdgeProperties(ctx, []graph.Edge{gone, edges[1]}, props, out))
	require.True(t, out[0][0].IsNull())
	require.Equal(t, text(rounds-1, 1)[0].Value.Str(), out[0][1].Str())
	require.Eventually(t, func() bool { // others may be decoding what is asked for
		var reads graph.Reads
		last.tx.(*local.Tx).Meter(&reads)
		err := last.tx.EdgeProperties(ctx, edges, props, last.got)
		return err == nil && reads.Misses.Load() == 0
	}, time.Minute, time.Millisecond)
}
