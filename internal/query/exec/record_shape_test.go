package exec

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// The keys of records are sorted, and shared by all records with the same properties.
func TestRecordShapes(t *testing.T) {
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), 1, 1, 0)
	tx, err := w.g.Begin(ctx, 1)
	require.NoError(t, err)
	defer tx.Rollback()
	var props []graph.Property
	for _, name := range []string{"z", "a", "m"} {
		id, _ := tx.Prop(name)
		props = append(props, graph.Property{ID: id})
	}
	var s recordShapes
	first := s.of(w.g, shapeKey{labels: 1}, props)
	require.Equal(t, []string{"a", "m", "z"}, first.keys)
	require.Equal(t, []int{1, 2, 0}, first.order)
	require.NotSame(t, first, s.of(w.g, shapeKey{labels: 1}, props[:2]))
	require.Same(t, first, s.of(w.g, shapeKey{labels: 1}, props))
}
