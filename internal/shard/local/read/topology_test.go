package read

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/cache"
	"github.com/hopgate/hopgate/internal/storage/staging"
)

// TestByProp compares the order of changes with that of a stable sort: few and many, of few properties and many, with and without an order.
func TestByProp(t *testing.T) {
	order := func(a, b staging.PropChange) int {
		return cmp.Or(cmp.Compare(a.Prop, b.Prop), cmp.Compare(a.Vertex/cache.ColumnBlock, b.Vertex/cache.ColumnBlock))
	}
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 3))
		props := make([]staging.PropChange, rng.IntN([]int{3, 40, 400}[rng.IntN(3)]))
		some := 1 + rng.IntN([]int{1, 4, 2 * fewProps}[rng.IntN(3)])
		for i := range props {
			props[i] = staging.PropChange{Prop: graph.PropID(rng.IntN(some)), Vertex: graph.VertexID(rng.IntN(4 * cache.ColumnBlock)), Value: graph.IntValue(int64(i))}
		}
		switch rng.IntN(3) {
		case 0:
			slices.SortStableFunc(props, order)
		case 1:
			slices.SortStableFunc(props, func(a, b staging.PropChange) int { return cmp.Compare(a.Vertex, b.Vertex) })
		}
		want := slices.Clone(props)
		slices.SortStableFunc(want, order)
		got := []staging.PropChange{}
		for _, i := range byProp(props) {
			got = append(got, props[i])
		}
		// Properties come in any order, each with all of its changes.
		rank := map[graph.PropID]int{}
		for i := range got {
			if _, ok := rank[got[i].Prop]; !ok {
				rank[got[i].Prop] = len(rank)
			}
		}
		slices.SortStableFunc(want, func(a, b staging.PropChange) int { return cmp.Compare(rank[a.Prop], rank[b.Prop]) })
		require.Equal(t, want, got, "seed %d", seed)
	}
}
