package local

import (
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// TestVectorIndexReopened keeps the settings of vector indexes when the store is closed and opened, and finds nothing wrong.
func TestVectorIndexReopened(t *testing.T) {
	ctx := context.Background()
	opts := Options{Dir: "data", FS: vfs.NewMem(), Shards: 2}
	s, err := Open(opts)
	require.NoError(t, err)
	g, err := s.Graph("default")
	require.NoError(t, err)
	docs := graph.Index{
		Name: "docs", Label: "Doc", Props: []string{"v"}, Kind: graph.VectorIndex,
		Vector: graph.VectorOptions{Dimensions: 3, Similarity: graph.Euclidean, Quantized: true, M: 8, EfConstruction: 9},
	}
	require.NoError(t, g.CreateIndex(ctx, docs))
	require.NoError(t, g.CreateIndex(ctx, graph.Index{Name: "ties", Type: "TIE", Props: []string{"v"}, Kind: graph.VectorIndex, Vector: graph.DefaultVectorOptions}))
	require.NoError(t, g.CreateIndex(ctx, graph.Index{Name: "values", Label: "Doc", Props: []string{"v"}, Indexed: true}))
	for _, ix := range g.Indexes() {
		require.True(t, ix.Online, ix.Name)
	}
	before := g.Indexes()
	require.NoError(t, s.Close())
	s, err = Open(opts)
	require.NoError(t, err)
	g, err = s.Graph("default")
	require.NoError(t, err)
	require.Equal(t, before, g.Indexes())
	docs.Name = "again"
	require.Equal(t, graph.KindExists, graph.AsError(g.CreateIndex(ctx, docs)).Kind)
	require.NoError(t, g.DropIndex(ctx, "docs"))
	require.NoError(t, g.CreateIndex(ctx, docs))
	require.NoError(t, s.Close())
}

// TestVectorIndexRefused refuses vector indexes that no statement makes.
func TestVectorIndexRefused(t *testing.T) {
	s, err := Open(Options{Dir: "data", FS: vfs.NewMem()})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	g, err := s.Graph("default")
	require.NoError(t, err)
	for _, ix := range []graph.Index{
		{Label: "Doc", Props: []string{"v", "w"}},
		{Label: "Doc", Props: []string{"v"}, Unique: true, Indexed: true},
		{Label: "Doc", Props: []string{"v"}, Required: true},
		{Label: "Doc", Props: []string{"v"}, Indexed: true},
	} {
		ix.Kind = graph.VectorIndex
		require.ErrorContains(t, g.CreateIndex(context.Background(), ix), "a vector index covers one property")
	}
}
