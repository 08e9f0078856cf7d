package read_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
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

// Look-ups of many keys in any order, of which the cache knows some, find what look-ups of each find: of unique and other indexes, keys that
// repeat, that nothing has, and that are in no index, in snapshots and in a transaction with two owners of a unique key.
func TestSeekManyKeys(t *testing.T) {
	ctx := context.Background()
	s, err := local.Open(local.Options{Dir: "data", FS: vfs.NewMem(), Shards: 3, Tuning: local.Tuning{PlaceBlock: 50}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	g, err := s.Local("default")
	require.NoError(t, err)
	require.NoError(t, g.CreateIndex(ctx, graph.Index{Name: "unique", Label: "N", Props: []string{"id"}, Unique: true, Indexed: true}))
	require.NoError(t, g.CreateIndex(ctx, graph.Index{Name: "plain", Label: "N", Props: []string{"few"}, Indexed: true}))
	tx, err := g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	label, err := tx.Label("N")
	require.NoError(t, err)
	set, err := tx.LabelSet([]graph.LabelID{label})
	require.NoError(t, err)
	id, err := tx.Prop("id")
	require.NoError(t, err)
	few, err := tx.Prop("few")
	require.NoError(t, err)
	const n, kinds = 1000, 40
	vertex := func(key int) shard.Mutation {
		return shard.Mutation{Op: shard.CreateVertex, Labels: set, Props: []graph.Property{
			{ID: id, Value: graph.IntValue(int64(key))}, {ID: few, Value: graph.IntValue(int64(key % kinds))},
		}}
	}
	ms := make([]shard.Mutation, n)
	for i := range ms {
		ms[i] = vertex(i)
	}
	require.NoError(t, tx.Apply(ctx, ms))
	require.NoError(t, tx.Commit(ctx))
	owners := [2]map[int64][]graph.VertexID{{}, {}}
	note := func(key int, v graph.VertexID) {
		for i, k := range [...]int64{int64(key), int64(key % kinds)} {
			owners[i][k] = append(owners[i][k], v)
			slices.Sort(owners[i][k])
		}
	}
	for i := range ms {
		note(i, ms[i].Vertex)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	compare := func(tx shard.Tx) {
		for i, ix := range g.Indexes() {
			require.Equal(t, []string{"unique", "plain"}[i], ix.Name)
			for range 30 {
				var keys []graph.Value
				want := shard.Found{Offsets: []int{0}}
				for range 1 + rng.IntN(200) {
					key := int64(rng.IntN(2 * n))
					switch rng.IntN(10) {
					case 0:
						keys = append(keys, graph.Value{})
					case 1:
						keys = append(keys, graph.FloatValue(math.NaN()))
					case 2:
						keys = append(keys, graph.StringValue(strings.Repeat("x", 1<<16)))
					default:
						if i > 0 {
							key %= 2 * kinds
						}
						keys = append(keys, graph.IntValue(key))
						want.IDs = append(want.IDs, owners[i][key]...)
					}
					want.Offsets = append(want.Offsets, len(want.IDs))
				}
				var res shard.Found
				require.NoError(t, tx.Seek(ctx, &shard.Seek{Index: ix.ID, Keys: keys}, &res))
				require.Equal(t, want, shard.Found{Offsets: res.Offsets, IDs: res.IDs})
				off, found, err := tx.(*local.Tx).Lookup(ctx, shard.RefOf(&ix), keys)
				require.NoError(t, err)
				require.Equal(t, want.Offsets, off)
				for k, o := range found {
					require.Equal(t, want.IDs[k], o.Vertex)
				}
			}
		}
	}
	read, err := g.Begin(ctx, shard.Read)
	require.NoError(t, err)
	defer read.Rollback()
	compare(read)
	tx, err = g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	defer tx.Rollback()
	compare(tx)
	ms = []shard.Mutation{vertex(3), vertex(n), vertex(700), vertex(3)}
	require.NoError(t, tx.Apply(ctx, ms))
	for i, key := range []int{3, n, 700, 3} {
		note(key, ms[i].Vertex)
	}
	compare(tx)
}
