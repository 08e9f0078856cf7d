package shard

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

func TestAddKeys(t *testing.T) {
	keys := AddKeys(nil, []Mutation{
		{Op: SetVertex, Vertex: 7}, {Op: CreateVertex, Vertex: 8}, {Op: SetEdge, Edge: graph.Edge{ID: 7}}, {Op: DeleteVertex, Vertex: 7},
	})
	require.Equal(t, []Key{{ID: 7}, {ID: 7, Edge: true}}, keys)
	require.Equal(t, keys, AddKeys(keys, make([]Mutation, MostTurns)), "too many")
}

// TestHotspots has transactions that begin alike change two keys, of which the second falls out of use.
func TestHotspots(t *testing.T) {
	var h Hotspots
	a, b := Key{ID: 1}, Key{ID: 2}
	h.Ended(5, nil, []Key{b, a}, false)
	require.Empty(t, h.Keys(5), "no conflict")
	h.Ended(5, nil, []Key{b, a}, true)
	require.Equal(t, []Key{a, b}, h.Keys(5))
	require.Empty(t, h.Keys(6))
	for range hotScore - 1 {
		require.Equal(t, []Key{a, b}, h.Keys(5))
		h.Ended(5, h.Keys(5), []Key{a}, false)
	}
	h.Ended(5, h.Keys(5), []Key{a}, false)
	require.Equal(t, []Key{a}, h.Keys(5))
	h.Ended(5, h.Keys(5), nil, true)
	require.Equal(t, []Key{a}, h.Keys(5), "it has met a conflict before it changed anything")
	h.Ended(5, h.Keys(5), nil, false)
	require.Empty(t, h.Keys(5))
	require.Empty(t, h.now)

	for i := range uint64(3 * mostHotspots) {
		h.Ended(i, nil, []Key{a}, true)
	}
	require.LessOrEqual(t, len(h.now)+len(h.old), 2*mostHotspots)
	require.Equal(t, []Key{a}, h.Keys(3*mostHotspots-1))
	require.Empty(t, h.Keys(0))
}
