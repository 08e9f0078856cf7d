package local

import (
	"context"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// checkDegrees compares the degree histograms of a graph that is settled with a recount.
func checkDegrees(t *testing.T, g *Graph) {
	t.Helper()
	ctx := context.Background()
	tx, err := g.Begin(ctx, shard.Read)
	require.NoError(t, err)
	defer tx.Rollback()
	want := map[graph.TypeDir][]uint64{}
	for from, done := graph.VertexID(0), false; !done; {
		var ids []graph.VertexID
		ids, from, done, err = tx.Scan(ctx, 0, from, make([]graph.VertexID, 0, 100))
		require.NoError(t, err)
		degrees := make([]int, len(ids))
		for _, name := range g.AllTypes() {
			typ, _ := g.Catalog.Type(name)
			for _, dir := range []graph.Direction{graph.Out, graph.In} {
				require.NoError(t, tx.Degrees(ctx, ids, []graph.TypeID{typ}, dir, degrees))
				for _, n := range degrees {
					if n == 0 {
						continue
					}
					k := graph.TypeDir{Type: name, Dir: dir}
					for len(want[k]) < bits.Len(uint(n)) {
						want[k] = append(want[k], 0)
					}
					want[k][bits.Len(uint(n))-1]++
				}
			}
		}
	}
	require.Equal(t, want, tx.Counts().Degrees)
}
