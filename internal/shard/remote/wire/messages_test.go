package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
)

// Definitions of indexes travel whole, and one without settings, as earlier programs send it, has none.
func TestIndexDefinition(t *testing.T) {
	for _, ix := range []graph.Index{
		{ID: 1, Name: "i", Label: "L", Props: []string{"p", "q"}, Indexed: true, Online: true},
		{ID: 2, Name: "at", Type: "T", Props: []string{"p"}, Kind: graph.PointIndex, Indexed: true, Failure: "why"},
		{
			ID: 3, Name: "v", Label: "L", Props: []string{"p"}, Kind: graph.VectorIndex, Online: true,
			Vector: graph.VectorOptions{Dimensions: 1536, Similarity: graph.Euclidean, Quantized: true, M: 16, EfConstruction: 100},
		},
		{ID: 4, Name: "any", Type: "T", Props: []string{"p"}, Kind: graph.VectorIndex, Online: true},
	} {
		b, err := proto.Marshal(EncodeIndex(ix))
		require.NoError(t, err)
		var d pb.IndexDefinition
		require.NoError(t, proto.Unmarshal(b, &d))
		require.Equal(t, ix, DecodeIndex(&d))
	}
	require.Nil(t, EncodeIndex(graph.Index{ID: 1, Name: "i", Label: "L", Props: []string{"p"}}).GetVector())
}
