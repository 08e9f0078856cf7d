package expr

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/shard"
)

// The keys of records are sorted, and shared by all records with the same properties.
func TestRecordShapes(t *testing.T) {
	g := oracle.NewGraph(1)
	tx, err := g.Begin(context.Background(), shard.Write)
	require.NoError(t, err)
	defer tx.Rollback()
	var props []graph.Property
	for _, name := range []string{"z", "a", "m"} {
		id, _ := tx.Prop(name)
		props = append(props, graph.Property{ID: id})
	}
	var s recordShapes
	first := s.of(g, shapeKey{labels: 1}, props)
	require.Equal(t, []string{"a", "m", "z"}, first.keys)
	require.Equal(t, []int{1, 2, 0}, first.order)
	require.NotSame(t, first, s.of(g, shapeKey{labels: 1}, props[:2]))
	require.Same(t, first, s.of(g, shapeKey{labels: 1}, props))
}
