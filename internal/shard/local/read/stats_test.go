package read_test

import (
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/storage"
)

// What readers find in the caches, which all shards share, counts for the shard that they read; the process's counts are
// the sum, and stay when the graph goes.
func TestCachesByShard(t *testing.T) {
	s, err := local.Open(local.Options{Dir: "data", FS: vfs.NewMem(), Shards: 3})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	ctx := context.Background()
	require.NoError(t, s.CreateGraph(ctx, "g"))
	g, err := s.Local("g")
	require.NoError(t, err)
	var name graph.PropID
	var typ graph.TypeID
	var ids [3][]graph.VertexID
	for len(ids[0]) < 1000 || len(ids[1]) < 1000 || len(ids[2]) < 1000 {
		tx, err := g.Begin(ctx, shard.Write)
		require.NoError(t, err)
		name, err = tx.Prop("name")
		require.NoError(t, err)
		typ, err = tx.Type("T")
		require.NoError(t, err)
		ms := make([]shard.Mutation, 200)
		for i := range ms {
			ms[i].Props = []graph.Property{{ID: name, Value: graph.StringValue("a name of some length")}}
		}
		require.NoError(t, tx.Apply(ctx, ms))
		edges := make([]shard.Mutation, len(ms))
		for i := range edges {
			edges[i] = shard.Mutation{Op: shard.CreateEdge, Edge: graph.Edge{Src: ms[i].Vertex, Dst: ms[(i+1)%len(ms)].Vertex, Type: typ}}
			no := ms[i].Vertex.Shard()
			ids[no] = append(ids[no], ms[i].Vertex)
		}
		require.NoError(t, tx.Apply(ctx, edges))
		require.NoError(t, tx.Commit(ctx))
	}
	require.NoError(t, g.Flush(ctx))

	all := func() [3]storage.Stats {
		out := g.Stats()
		require.Len(t, out, 3)
		return [3]storage.Stats(out)
	}
	for no, ids := range ids {
		before, whole := all(), s.TopologyStats()
		tx, err := g.Begin(ctx, shard.Read)
		require.NoError(t, err)
		for range 3 {
			require.NoError(t, tx.Properties(ctx, ids, []graph.PropID{name}, shard.Columns(1, len(ids))))
			var res shard.Neighbours
			require.NoError(t, tx.Expand(ctx, &shard.Expand{Sources: ids, Types: []graph.TypeID{typ}}, &res))
			require.Len(t, res.Targets, len(ids))
		}
		tx.Rollback()
		after := all()
		for i := range after {
			if i != no {
				require.Equal(t, before[i].Topology, after[i].Topology, "shard %d beside %d", i, no)
				require.Equal(t, before[i].Graph.BlockRead, after[i].Graph.BlockRead, "shard %d beside %d", i, no)
			}
		}
		sum := s.TopologyStats().Counts
		sum.Hits -= whole.Hits
		sum.Misses -= whole.Misses
		sum.Stale -= whole.Stale
		own := after[no].Topology
		require.Zero(t, before[no].Topology)
		require.Equal(t, sum, own)
		require.Positive(t, own.Hits)
		require.Positive(t, own.Misses)
		require.Greater(t, after[no].Graph.BlockRead, before[no].Graph.BlockRead)
		require.Greater(t, after[no].Graph.BlockFound, before[no].Graph.BlockFound)
		require.Less(t, after[no].Graph.BlockFound, after[no].Graph.BlockRead)
	}

	whole := s.TopologyStats().Counts
	require.NoError(t, s.DropGraph(ctx, "g"))
	require.Equal(t, whole, s.TopologyStats().Counts)
}
