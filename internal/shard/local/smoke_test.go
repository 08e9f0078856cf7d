package local

import (
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

func TestSmoke(t *testing.T) {
	fs := vfs.NewMem()
	s, err := Open(Options{Dir: "data", FS: fs})
	require.NoError(t, err)
	g, err := s.Graph("default")
	require.NoError(t, err)
	ctx := context.Background()
	tx, err := g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	person, err := tx.Label("Person")
	require.NoError(t, err)
	knows, err := tx.Type("KNOWS")
	require.NoError(t, err)
	name, err := tx.Prop("name")
	require.NoError(t, err)
	set, err := tx.LabelSet([]graph.LabelID{person})
	require.NoError(t, err)
	ms := []shard.Mutation{
		{Op: shard.CreateVertex, Labels: set, Props: []graph.Property{{ID: name, Value: graph.StringValue("Ann")}}},
		{Op: shard.CreateVertex, Labels: set, Props: []graph.Property{{ID: name, Value: graph.StringValue("Bob")}}},
	}
	require.NoError(t, tx.Apply(ctx, ms))
	a, b := ms[0].Vertex, ms[1].Vertex
	require.NoError(t, tx.Apply(ctx, []shard.Mutation{{Op: shard.CreateEdge, Edge: graph.Edge{Src: a, Dst: b, Type: knows}}}))
	require.NoError(t, tx.Commit(ctx))
	read := func(g shard.Graph) {
		tx, err = g.Begin(ctx, shard.Read)
		require.NoError(t, err)
		defer tx.Rollback()
		require.EqualValues(t, 2, tx.Counts().Vertices)
		var res shard.Neighbours
		require.NoError(t, tx.Expand(ctx, &shard.Expand{Sources: []graph.VertexID{a}, Edges: true}, &res))
		require.Equal(t, []graph.VertexID{b}, res.Targets)
		out := shard.Columns(1, 2)
		require.NoError(t, tx.Properties(ctx, []graph.VertexID{a, b}, []graph.PropID{name}, out))
		require.Equal(t, "Bob", out[0][1].Str())
	}
	read(g)
	require.NoError(t, g.(*Graph).Settle(ctx))
	read(g)
	require.NoError(t, s.Close())
	s, err = Open(Options{Dir: "data", FS: fs})
	require.NoError(t, err)
	g, err = s.Graph("default")
	require.NoError(t, err)
	read(g)
	require.NoError(t, s.Close())
}
