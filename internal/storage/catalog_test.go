package storage

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
)

// The definition of an index is read back as it was written, and one without a kind, as earlier programs wrote it, is of a range index.
func TestIndexDefinition(t *testing.T) {
	for _, ix := range []graph.Index{
		{Name: "i", Label: "L", Props: []string{"p", "q"}, Indexed: true, Online: true},
		{Name: "c", Type: "T", Props: []string{"p"}, Unique: true, Required: true, Indexed: true, Failure: "why"},
		{Name: "t", Label: "L", Props: []string{"p"}, Indexed: true, TTL: time.Hour},
		{Name: "at", Label: "L", Props: []string{"p"}, Kind: graph.PointIndex, Indexed: true, Online: true},
		{Name: "at", Type: "T", Props: []string{"p"}, Kind: graph.PointIndex, Indexed: true, Failure: "why"},
		{
			Name: "v", Label: "L", Props: []string{"p"}, Kind: graph.VectorIndex, Online: true,
			Vector: graph.VectorOptions{Dimensions: 1536, Similarity: graph.Euclidean, Quantized: true, M: 16, EfConstruction: 100},
		},
		{
			Name: "h", Label: "L", Props: []string{"p"}, Kind: graph.VectorIndex, Online: true,
			Vector: graph.VectorOptions{Dimensions: 3, M: 8, EfConstruction: 100, HNSW: true},
		},
		{Name: "any", Type: "T", Props: []string{"p"}, Kind: graph.VectorIndex, Online: true},
	} {
		got, err := parseIndex(appendIndex(nil, ix))
		require.NoError(t, err)
		require.Equal(t, ix, got)
	}
	old := []byte("\x0c\x01i\x01L\x00\x01p")
	got, err := parseIndex(old)
	require.NoError(t, err)
	require.Equal(t, graph.Index{Name: "i", Label: "L", Props: []string{"p"}, Indexed: true, Online: true}, got)
	_, err = parseIndex([]byte("\x8c\x05SHAPE\x01i\x01L\x00\x01p"))
	require.ErrorIs(t, err, codec.ErrRecord, "a kind of a later program")
	_, err = parseIndex([]byte("\x88\x06VECTOR\x123 dot true 16 100 \x01i\x01L\x00\x01p"))
	require.ErrorIs(t, err, codec.ErrRecord, "a similarity of a later program")
}
