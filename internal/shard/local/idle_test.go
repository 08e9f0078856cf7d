package local

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// TestIdleCompacted leaves a store alone after writes whose tables lie over each other: all of it must come to the lowest
// level, and no other table may stay, although a transaction that is open has read them.
func TestIdleCompacted(t *testing.T) {
	ctx := context.Background()
	fs := vfs.NewMem()
	store, err := Open(Options{Dir: "data", FS: fs, Tuning: Tuning{CompactIdle: time.Millisecond, ReclaimRest: time.Millisecond, ReclaimBytes: 1}})
	require.NoError(t, err)
	g, err := store.Local(DefaultGraph)
	require.NoError(t, err)
	var ids []graph.VertexID
	read := func(tx shard.Tx, want string) {
		p, _ := g.Catalog.Prop("text")
		out := shard.Columns(1, len(ids))
		require.NoError(t, tx.Properties(ctx, ids, []graph.PropID{p}, out))
		for _, v := range out[0] {
			require.Equal(t, want, v.Str())
		}
		all, _, _, err := tx.Scan(ctx, 0, 0, make([]graph.VertexID, 0, len(ids)))
		require.NoError(t, err)
		require.Equal(t, ids, all)
	}
	var old shard.Tx
	for round := range 4 {
		tx, err := g.Begin(ctx, shard.Write)
		require.NoError(t, err)
		p, err := tx.Prop("text")
		require.NoError(t, err)
		set, err := tx.LabelSet(nil)
		require.NoError(t, err)
		ms := make([]shard.Mutation, 500)
		for i := range ms {
			ms[i] = shard.Mutation{Op: shard.CreateVertex, Labels: set, Props: []graph.Property{{ID: p, Value: graph.StringValue(fmt.Sprint("round ", round))}}}
			if round > 0 {
				ms[i].Op, ms[i].Vertex = shard.SetVertex, ids[i]
			}
		}
		require.NoError(t, tx.Apply(ctx, ms))
		require.NoError(t, tx.Commit(ctx))
		if round == 0 {
			for i := range ms {
				ids = append(ids, ms[i].Vertex)
			}
		}
		require.NoError(t, g.Settle(ctx))
		require.NoError(t, g.Flush(ctx))
		if round == 2 {
			old, err = g.Begin(ctx, shard.Read)
			require.NoError(t, err)
			read(old, "round 2")
		}
	}
	require.Eventually(t, func() bool {
		names, err := fs.List("data/graphs/default/shard-0000/graph")
		require.NoError(t, err)
		tables, files := 0, strings.Count(strings.Join(names, " "), ".sst")
		levels := g.Stats()[0].Graph.Levels
		for _, l := range levels[:len(levels)-1] {
			tables += int(l.Tables)
		}
		return tables == 0 && files > 0 && files == int(levels[len(levels)-1].Tables)
	}, time.Minute, 5*time.Millisecond)
	read(old, "round 2")
	old.Rollback()
	require.NoError(t, store.Close())
}

// TestLoadCompacted leaves a graph alone after a load: all runs of edges must come into their lists, although each step takes few.
func TestLoadCompacted(t *testing.T) {
	ctx := context.Background()
	for _, ingest := range []int{1, 1 << 20} {
		c := openCounting(t, Options{Dir: "data", FS: vfs.NewMem(), Tuning: Tuning{CompactIdle: time.Millisecond, CompactStep: 4, IngestBytes: ingest}})
		g := c.g.(*Graph)
		var types []graph.TypeID
		tx, err := g.Begin(ctx, shard.Write)
		require.NoError(t, err)
		for i := range 6 {
			typ, err := tx.Type(fmt.Sprint("T", i))
			require.NoError(t, err)
			types = append(types, typ)
		}
		require.NoError(t, tx.Commit(ctx))
		for seq := uint64(1); seq <= 20; seq++ {
			l := c.batch(seq)
			if seq > 4 {
				l.Vertices = nil
			}
			for _, typ := range types {
				e := l.Edges[0]
				e.Type = typ
				l.Edges = append(l.Edges, e)
			}
			require.NoError(t, g.Load(ctx, l))
		}
		require.Eventually(t, func() bool { return g.compactor.Pending() == 0 }, time.Minute, time.Millisecond)
		checkDegrees(t, g)
		require.NoError(t, c.store.Close())
	}
}
