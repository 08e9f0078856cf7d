package local

import (
	"context"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/shard"
)

// derived is what a reader has derived of a property, and of labels, as of a change.
type derived struct {
	g      shard.Graph
	change uint64
	values map[graph.VertexID]string
}

// checkChanges compares what vertices have for each property with what they had as of the same last change.
func (w *loadTwin) checkChanges() {
	ctx, g := context.Background(), w.graphs[0]
	tx, err := g.Begin(ctx, shard.Read)
	require.NoError(w.t, err)
	defer tx.Rollback()
	var ids []graph.VertexID
	for next, done := graph.VertexID(0), false; !done; {
		var some []graph.VertexID
		some, next, done, err = tx.Scan(ctx, 0, next, make([]graph.VertexID, 0, 100))
		require.NoError(w.t, err)
		ids = append(ids, some...)
	}
	sets := make([]graph.LabelSet, len(ids))
	require.NoError(w.t, tx.LabelSets(ctx, ids, sets))
	for _, p := range w.props {
		cols := shard.Columns(1, len(ids))
		require.NoError(w.t, tx.Properties(ctx, ids, []graph.PropID{p}, cols))
		change, ok := tx.Features().Dated.LastChange([]graph.PropID{p})
		require.True(w.t, ok, "nobody commits meanwhile")
		now, then := derived{g, change, map[graph.VertexID]string{}}, w.derived[p]
		for i, id := range ids {
			now.values[id] = fmt.Sprint(sets[i], " ", string(notation.Append(nil, cols[0][i])))
			if then.g == g && then.change == change && then.values[id] != "" {
				require.Equal(w.t, then.values[id], now.values[id], "vertex %d, property %d, unchanged since %d", id, p, change)
			}
		}
		w.derived[p] = now
	}
}

// The last change is that of the labels and properties asked for, of vertices that were there before, in the snapshot.
func TestLastChange(t *testing.T) {
	ctx := context.Background()
	s, err := Open(Options{Dir: "data", FS: vfs.NewMem(), Logger: quiet()})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	g, err := s.Graph(DefaultGraph)
	require.NoError(t, err)
	var props []graph.PropID
	var label graph.LabelSet
	var v graph.VertexID
	commit := func(ms ...shard.Mutation) {
		tx, err := g.Begin(ctx, shard.Write)
		require.NoError(t, err)
		defer tx.Rollback()
		require.NoError(t, tx.Apply(ctx, ms))
		require.NoError(t, tx.Commit(ctx))
		v = max(v, ms[0].Vertex)
	}
	last := func(props ...graph.PropID) uint64 {
		tx, err := g.Begin(ctx, shard.Read)
		require.NoError(t, err)
		defer tx.Rollback()
		change, ok := tx.Features().Dated.LastChange(props)
		require.True(t, ok)
		return change
	}
	tx, err := g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	for _, name := range []string{"a", "b"} {
		p, err := tx.Prop(name)
		require.NoError(t, err)
		props = append(props, p)
	}
	l, err := tx.Label("L")
	require.NoError(t, err)
	label, err = tx.LabelSet([]graph.LabelID{l})
	require.NoError(t, err)
	require.NoError(t, tx.Commit(ctx))
	a, b := props[0], props[1]
	value := func(p graph.PropID, n int64) []graph.Property {
		return []graph.Property{{ID: p, Value: graph.IntValue(n)}}
	}

	commit(shard.Mutation{Op: shard.CreateVertex, Props: value(a, 1)})
	first := last(a, b)
	commit(shard.Mutation{Op: shard.CreateVertex, Labels: label, Props: value(a, 2)})
	require.Equal(t, first, last(a, b), "new vertices do not count")

	old, err := g.Begin(ctx, shard.Read)
	require.NoError(t, err)
	defer old.Rollback()
	commit(shard.Mutation{Op: shard.SetVertex, Vertex: v, Props: value(a, 3)})
	second := last(a)
	require.Greater(t, second, first)
	require.Equal(t, first, last(b))
	require.Equal(t, second, last(a, b))
	_, ok := old.Features().Dated.LastChange([]graph.PropID{a})
	require.False(t, ok, "a later commit hides what the snapshot has")
	change, ok := old.Features().Dated.LastChange([]graph.PropID{b})
	require.True(t, ok)
	require.Equal(t, first, change)

	commit(shard.Mutation{Op: shard.SetLabels, Vertex: v, Labels: label})
	commit(shard.Mutation{Op: shard.SetLabels, Vertex: v})
	require.Greater(t, last(b), second, "labels always count")
	own, err := g.Begin(ctx, shard.WriteExclusive)
	require.NoError(t, err)
	defer own.Rollback()
	_, ok = own.Features().Dated.LastChange(nil)
	require.False(t, ok, "the present state is no snapshot")
}
