package local

import (
	"context"
	"io"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage"
)

// copyOut writes a checkpoint's files to another file system.
func copyOut(t *testing.T, c shard.Checkpoint, to vfs.FS) {
	for i, f := range c.Files() {
		r, err := c.Open(i)
		require.NoError(t, err)
		b, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, r.Close())
		require.Len(t, b, int(f.Size))
		require.NoError(t, storage.MakeDir(to, to.PathDir(f.Path)))
		w, err := to.Create(f.Path, vfs.WriteCategoryUnspecified)
		require.NoError(t, err)
		_, err = w.Write(b)
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
}

// addPeople makes n vertices with a large text and an edge to the one before, in a transaction each.
func addPeople(t *testing.T, g shard.Graph, n int) {
	ctx := context.Background()
	text := make([]byte, 2000)
	last := graph.NoVertex
	for range n {
		tx, err := g.Begin(ctx, shard.Write)
		require.NoError(t, err)
		l, err := tx.Label("Person")
		require.NoError(t, err)
		set, err := tx.LabelSet([]graph.LabelID{l})
		require.NoError(t, err)
		p, err := tx.Prop("text")
		require.NoError(t, err)
		knows, err := tx.Type("KNOWS")
		require.NoError(t, err)
		ms := []shard.Mutation{{Op: shard.CreateVertex, Labels: set, Props: []graph.Property{{ID: p, Value: graph.StringValue(string(text))}}}}
		require.NoError(t, tx.Apply(ctx, ms))
		if last != graph.NoVertex {
			require.NoError(t, tx.Apply(ctx, []shard.Mutation{{Op: shard.CreateEdge, Edge: graph.Edge{Src: ms[0].Vertex, Dst: last, Type: knows}}}))
		}
		last = ms[0].Vertex
		require.NoError(t, tx.Commit(ctx))
	}
}

func TestCheckpoint(t *testing.T) {
	ctx := context.Background()
	fs := vfs.NewMem()
	s, err := Open(Options{Dir: "data", FS: fs, Shards: 3, Tuning: Tuning{PlaceBlock: 2}})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.NoError(t, s.CreateGraph(ctx, "other"))
	g, err := s.Graph(DefaultGraph)
	require.NoError(t, err)
	addPeople(t, g, 40)

	first, err := s.Checkpoint(ctx, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"default", "other"}, first.Graphs())
	addPeople(t, g, 20)
	second, err := s.Checkpoint(ctx, []string{"default"})
	require.NoError(t, err)
	have := map[[32]byte]bool{}
	for _, f := range first.Files() {
		have[f.SHA256] = true
	}
	old := 0
	for _, f := range second.Files() {
		if have[f.SHA256] && immutable(f.Path) {
			old++
		}
	}
	require.Positive(t, old, "nothing is shared")
	for want, c := range map[uint64]shard.Checkpoint{40: first, 60: second} {
		to := vfs.NewMem()
		copyOut(t, c, to)
		require.NoError(t, c.Close())
		back, err := Open(Options{Dir: ".", FS: to})
		require.NoError(t, err)
		g, err := back.Graph(DefaultGraph)
		require.NoError(t, err)
		tx, err := g.Begin(ctx, shard.Read)
		require.NoError(t, err)
		require.Equal(t, want, tx.Counts().Vertices)
		require.Equal(t, map[uint64]uint64{40: 39, 60: 58}[want], tx.Counts().Edges)
		tx.Rollback()
		require.NoError(t, back.Close())
	}
	names, err := fs.List("data/checkpoints")
	require.NoError(t, err)
	require.Empty(t, names)
	_, err = s.Checkpoint(ctx, []string{"nowhere"})
	require.Error(t, err)
}

func TestInterruptedRestoreIsNoStore(t *testing.T) {
	fs := vfs.NewMem()
	require.NoError(t, storage.MakeDir(fs, "data/"+PartialName))
	_, err := Open(Options{Dir: "data", FS: fs})
	require.ErrorContains(t, err, "interrupted")
}
