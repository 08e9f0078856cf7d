package local

import (
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/replica"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/part"
)

// TestSeedReplicas makes replicas of graphs without any. Their state follows an entry that no log has, and no writer is attached. A graph
// with more shards than the cluster is refused.
func TestSeedReplicas(t *testing.T) {
	layout := shard.Layout{Processes: 3, Shards: 2, Replicas: 3}
	seed := func(shards int, change func(*Graph)) (Options, error) {
		fs := vfs.NewMem()
		s, err := Open(Options{Dir: "whole", FS: fs, Shards: shards, Logger: quiet()})
		require.NoError(t, err)
		g, err := s.Local(DefaultGraph)
		require.NoError(t, err)
		change(g)
		require.NoError(t, s.Close())
		for no := range layout.Shards {
			ok, err := vfs.Clone(fs, fs, "whole/graphs", "data/"+part.ReplicaDir(no)+"/graphs", vfs.CloneSync)
			require.NoError(t, err)
			require.True(t, ok)
		}
		opts := Options{Dir: "data", FS: fs, Logger: quiet()}
		return opts, part.SeedReplicas(opts, layout, 1, "backup")
	}
	_, err := seed(3, func(*Graph) {})
	require.ErrorContains(t, err, "the graph has 3 shards")
	opts, err := seed(2, func(g *Graph) {
		ix := graph.Index{Name: "x", Label: "A", Props: []string{"p"}, Kind: graph.FullTextIndex, Indexed: true}
		ix.Text.Analyzer = graph.DefaultAnalyzer
		require.NoError(t, g.CreateIndex(context.Background(), ix))
	})
	require.NoError(t, err)
	r, err := part.OpenReplicas(opts, layout, 1, part.Network{Send: func(uint32, []*replica.Message) {}})
	require.NoError(t, err)
	for no, s := range r.Replicas() {
		p, err := r.Parts(int(no)).Part(DefaultGraph)
		require.NoError(t, err)
		require.Zero(t, p.Epoch())
		require.EqualValues(t, replica.BeginIndex, p.Applied())
		require.EqualValues(t, replica.BeginIndex+1, s.FirstIndex)
		store, ok, err := r.Host().Known(no, layout.First(2))
		require.NoError(t, err)
		require.True(t, ok)
		require.NotEqual(t, r.StoreID(), store)
	}
	require.NoError(t, r.Close())
	require.ErrorContains(t, part.SeedReplicas(opts, layout, 1, "backup"), "is not empty")
}
