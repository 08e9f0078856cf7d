package read_test

import (
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// Look-ups in a unique index whose keys are kept give what the first look-up gave, and follow the changes that others
// commit, each reader as of its snapshot.
func TestKeptKeysFollowCommits(t *testing.T) {
	ctx := context.Background()
	s, err := local.Open(local.Options{Dir: "data", FS: vfs.NewMem()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	g, err := s.Local("default")
	require.NoError(t, err)
	require.NoError(t, g.CreateIndex(ctx, graph.Index{Name: "n", Label: "N", Props: []string{"id"}, Unique: true, Indexed: true}))
	index := g.Indexes()[0].ID
	write := func(ms ...shard.Mutation) []shard.Mutation {
		tx, err := g.Begin(ctx, shard.Write)
		require.NoError(t, err)
		require.NoError(t, tx.Apply(ctx, ms))
		require.NoError(t, tx.Commit(ctx))
		return ms
	}
	tx, err := g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	label, err := tx.Label("N")
	require.NoError(t, err)
	set, err := tx.LabelSet([]graph.LabelID{label})
	require.NoError(t, err)
	id, err := tx.Prop("id")
	require.NoError(t, err)
	make := func(key int64) shard.Mutation {
		return shard.Mutation{Op: shard.CreateVertex, Labels: set, Props: []graph.Property{{ID: id, Value: graph.IntValue(key)}}}
	}
	ms := []shard.Mutation{make(1), make(2)}
	require.NoError(t, tx.Apply(ctx, ms))
	require.NoError(t, tx.Commit(ctx))
	read := func() shard.Tx {
		tx, err := g.Begin(ctx, shard.Read)
		require.NoError(t, err)
		t.Cleanup(tx.Rollback)
		return tx
	}
	seek := func(tx shard.Tx, keys ...int64) shard.Found {
		var vals []graph.Value
		for _, k := range keys {
			vals = append(vals, graph.IntValue(k))
		}
		var res shard.Found
		require.NoError(t, tx.Seek(ctx, &shard.Seek{Index: index, Keys: vals}, &res))
		return res
	}
	old := read()
	one, two := ms[0].Vertex, ms[1].Vertex
	both := shard.Found{Offsets: []int{0, 1, 2}, IDs: []graph.VertexID{one, two}}
	for range 3 {
		require.Equal(t, both, seek(old, 1, 2))
	}
	again := write(make(3), shard.Mutation{Op: shard.DeleteVertex, Vertex: one}, shard.Mutation{
		Op: shard.SetVertex, Vertex: two, Props: []graph.Property{{ID: id, Value: graph.IntValue(1)}},
	})
	now := read()
	for range 3 {
		require.Equal(t, shard.Found{Offsets: []int{0, 1, 1, 2}, IDs: []graph.VertexID{two, again[0].Vertex}}, seek(now, 1, 2, 3))
		require.Equal(t, []graph.VertexID{two}, seek(now, 1).IDs)
		require.Equal(t, both, seek(old, 1, 2))
		require.Empty(t, seek(old, 3).IDs)
	}
	// A transaction sees the keys that it has changed itself.
	tx, err = g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	defer tx.Rollback()
	require.Equal(t, []graph.VertexID{two}, seek(tx, 1).IDs)
	require.NoError(t, tx.Apply(ctx, []shard.Mutation{{Op: shard.DeleteVertex, Vertex: two}}))
	require.Empty(t, seek(tx, 1).IDs)
	require.Equal(t, []graph.VertexID{two}, seek(read(), 1).IDs)
}
