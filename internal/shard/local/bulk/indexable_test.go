package bulk

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// TestIndexable holds that a load refuses a value of any kind that is too large for an index on its property.
func TestIndexable(t *testing.T) {
	defs := []*index.Def{{PropIDs: []graph.PropID{3}}}
	for name, large := range map[string]graph.Value{
		"text":   graph.StringValue(strings.Repeat("x", keys.MaxOrdered)),
		"bytes":  graph.BytesValue(make([]byte, keys.MaxOrdered)),
		"list":   graph.ListValue(make([]graph.Value, keys.MaxOrdered)),
		"vector": graph.VectorValue(graph.Vector{Type: graph.Float64, Data: make([]byte, 8*1024)}),
	} {
		require.Equal(t, "BadValue", indexable(defs, large, 3).code, name)
		require.Nil(t, indexable(defs, large, 4), name)
	}
	require.Nil(t, indexable(defs, graph.VectorValue(graph.Vector{Type: graph.Float64, Data: make([]byte, 8*1023)}), 3))
}
