package local

import (
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/localtest"
	"github.com/hopgate/hopgate/internal/storage"
)

// warmed opens a store, warms it, and returns what the cache had to decode when all lists of two types were read afterwards.
func warmed(t *testing.T, ctx context.Context, opts Options) (missed uint64, stats storage.TopologyStats) {
	t.Helper()
	s, err := Open(opts)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	s.Warm(ctx)
	stats = s.Shared.Topology().Stats()
	g, err := s.Local(DefaultGraph)
	require.NoError(t, err)
	tx, err := g.Begin(context.Background(), shard.Read)
	require.NoError(t, err)
	defer tx.Rollback()
	ids := localtest.Vertices(t, tx, 0)
	for typ := graph.TypeID(1); typ <= 2; typ++ {
		for _, dir := range []graph.Direction{graph.Out, graph.In} {
			req, edges := shard.Expand{Sources: ids, Types: []graph.TypeID{typ}, Dir: dir}, 0
			for len(req.Sources) > 0 {
				var res shard.Neighbours
				require.NoError(t, tx.Expand(context.Background(), &req, &res))
				edges += len(res.Targets)
				req.Sources = req.Sources[res.Done:]
			}
			require.Equal(t, len(ids)*int(typ), edges)
		}
	}
	return s.Shared.Topology().Stats().Misses - stats.Misses, stats
}

// A store that is warmed has decoded all lists before the first reader wants them, as far as they fit into half of the cache.
func TestWarm(t *testing.T) {
	ctx := context.Background()
	opts := Options{Dir: "data", FS: vfs.NewMem(), Shards: 2, Logger: quiet()}
	s, err := Open(opts)
	require.NoError(t, err)
	g, err := s.Local(DefaultGraph)
	require.NoError(t, err)
	tx, err := g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	vertices := make([]shard.Mutation, 20_000) // more than one block of lists a shard
	for i := range vertices {
		vertices[i].Op = shard.CreateVertex
	}
	require.NoError(t, tx.Apply(ctx, vertices))
	var edges []shard.Mutation
	for _, name := range []string{"A", "B"} {
		typ, err := tx.Type(name)
		require.NoError(t, err)
		for i := range vertices {
			for step := range int(typ) {
				edges = append(edges, shard.Mutation{Op: shard.CreateEdge, Edge: graph.Edge{
					Src: vertices[i].Vertex, Dst: vertices[(i+7*step+1)%len(vertices)].Vertex, Type: typ,
				}})
			}
		}
	}
	require.NoError(t, tx.Apply(ctx, edges))
	require.NoError(t, tx.Commit(ctx))
	require.NoError(t, s.Close())

	missed, all := warmed(t, ctx, opts)
	require.Zero(t, missed)
	require.NotZero(t, all.Segments)

	ended, end := context.WithCancel(ctx)
	end()
	missed, none := warmed(t, ended, opts)
	require.NotZero(t, missed)
	require.Zero(t, none.Segments)

	opts.TopologyBytes = int64(all.Used) // too small for all in its half
	missed, some := warmed(t, ctx, opts)
	require.NotZero(t, missed)
	require.NotZero(t, some.Segments)
	require.Less(t, some.Segments, all.Segments)
	require.LessOrEqual(t, some.Used, some.Budget*3/4)

	opts.TopologyBytes = -1 // no cache
	_, none = warmed(t, ctx, opts)
	require.Zero(t, none.Segments)
}
