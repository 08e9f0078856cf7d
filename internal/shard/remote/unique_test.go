package remote_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// A transaction over a cluster says whether its writes keep a unique constraint as one of this process does, and sends no request
// while the answers to its writes say that they do.
func TestCheckUnique(t *testing.T) {
	whole, spread := open(t, 3)
	for name, store := range map[string]shard.Store{"local": whole, "remote": spread} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			require.NoError(t, store.CreateGraph(ctx, "unique"))
			g, err := store.Graph("unique")
			require.NoError(t, err)
			require.NoError(t, g.CreateIndex(ctx, graph.Index{Name: "c", Label: "P", Props: []string{"k"}, Unique: true, Indexed: true}))
			tx, err := g.Begin(ctx, shard.Write)
			require.NoError(t, err)
			defer tx.Rollback()
			label, err := tx.Label("P")
			require.NoError(t, err)
			set, err := tx.LabelSet([]graph.LabelID{label})
			require.NoError(t, err)
			k, err := tx.Prop("k")
			require.NoError(t, err)
			key := func(n int64) []graph.Property { return []graph.Property{{ID: k, Value: graph.IntValue(n)}} }

			ms := []shard.Mutation{{Op: shard.CreateVertex, Labels: set, Props: key(1)}, {Op: shard.CreateVertex, Labels: set, Props: key(2)}}
			require.NoError(t, tx.Apply(ctx, ms))
			require.NoError(t, tx.CheckUnique(ctx))
			a, b := ms[0].Vertex, ms[1].Vertex
			require.NoError(t, tx.Apply(ctx, []shard.Mutation{{Op: shard.SetVertex, Vertex: a, Labels: set, Props: key(2)}}))
			for range 2 {
				err := tx.CheckUnique(ctx)
				require.Error(t, err)
				require.Equal(t, graph.KindExists, graph.AsError(err).Kind, "%v", err)
				require.ErrorContains(t, err, "already exists")
			}
			require.NoError(t, tx.Apply(ctx, []shard.Mutation{{Op: shard.SetVertex, Vertex: b, Labels: set, Props: key(1)}}))
			require.NoError(t, tx.CheckUnique(ctx))
			require.NoError(t, tx.Commit(ctx))
		})
	}
}
