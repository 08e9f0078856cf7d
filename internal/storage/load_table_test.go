package storage

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/staging"
	"github.com/hopgate/hopgate/internal/storage/stats"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// TestTakeIn takes tables of lists in between what a shard holds already: they go to the lowest level as they are, and
// compacting the shard does not write them again.
func TestTakeIn(t *testing.T) {
	o := &Options{Dir: "data", FS: vfs.NewMem()}
	o.EnsureDefaults()
	sh := NewShared(o)
	defer sh.Close()
	s, err := CreateShard(o, sh, "data/0", 0, 1)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	intents, err := Recover([]*Shard{s})
	require.NoError(t, err)
	commit := func(w *staging.Writer) {
		wait, err := Commit([]*Shard{s}, []*staging.Writer{w}, &CommitInfo{}, &intents)
		require.NoError(t, err)
		require.NoError(t, wait())
	}
	const n = 500
	fill := func() {
		w := s.NewWriter()
		for range n / 2 {
			id := w.NewVertex()
			require.NoError(t, w.Vertices.Put(id, graph.NoLabels, nil, nil))
		}
		commit(w)
		_, err = s.CompactDeltas(t.Context(), 2*n, true)
		require.NoError(t, err)
		require.NoError(t, s.Compact(t.Context()))
	}
	// The table of the first half comes to the lowest level as it is, and Pebble compacts it by itself some time later, since
	// there are deletions in it. That of both halves has none.
	fill()
	fill()

	var paths []string
	for typ := graph.TypeID(1); typ <= 2; typ++ {
		for _, dir := range []graph.Direction{graph.Out, graph.In} {
			for part := range uint64(2) {
				paths = append(paths, fmt.Sprintf("data/%d-%d-%d.sst", typ, dir, part))
				table, err := s.NewListTable(paths[len(paths)-1], typ, dir)
				require.NoError(t, err)
				for v := part * n / 2; v < (part+1)*n/2; v++ {
					require.NoError(t, table.Put(v, []graph.VertexID{graph.VertexID(n - v)}, []graph.EdgeID{graph.EdgeID(v)}, nil))
				}
				require.NoError(t, table.Close())
			}
		}
	}
	compacted := s.disk.graph.Measure().Compacted
	require.NoError(t, s.TakeIn(t.Context(), paths))
	w := s.NewWriter()
	w.Count(stats.Count{Kind: stats.CountEdges}, 2*n)
	commit(w)
	require.NoError(t, s.Compact(t.Context()))
	stats := s.disk.graph.Measure() // Stats gives older numbers if they take long
	require.Equal(t, 1, stats.DeepLevels())
	lowest := stats.Levels[len(stats.Levels)-1]
	require.GreaterOrEqual(t, lowest.Tables, int64(len(paths)+2))
	require.Less(t, stats.Compacted-compacted, uint64(lowest.Bytes)/4)

	v, err := s.Snapshot()
	require.NoError(t, err)
	defer v.Close()
	ls, err := v.Lists(2, graph.In)
	require.NoError(t, err)
	defer ls.Close()
	var out view.Edges
	require.NoError(t, ls.Append(t.Context(), 7, view.Want{IDs: true}, &out, nil))
	require.Equal(t, view.Edges{Targets: []graph.VertexID{n - 7}, IDs: []graph.EdgeID{7}}, out)
}
