//go:build !race

// The race detector takes more memory than what is measured.

package bulk_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/local/bulk"
)

// TestOfflineMemory loads vertices whose keys take many times the memory that they may have, integers and texts, and looks
// all of them up as the ends of edges.
func TestOfflineMemory(t *testing.T) {
	const vertices, batch, memory = 400_000, 10_000, 2 << 20
	for _, text := range []bool{false, true} {
		t.Run(fmt.Sprint("text=", text), func(t *testing.T) {
			f, err := local.OpenOffline(local.Options{
				Dir: t.TempDir(), MemtableBytes: 1 << 20, CacheBytes: 1 << 20, TopologyBytes: -1,
				Tuning: local.Tuning{CompactRecords: -1},
			}, "default", local.OfflineOptions{Memory: memory})
			require.NoError(t, err)
			defer func() { require.NoError(t, f.Close()) }()
			ctx := t.Context()
			g, err := f.Store().Local("default")
			require.NoError(t, err)
			require.NoError(t, g.CreateIndex(ctx, graph.Index{Name: "space_s", Unique: true, Indexed: true}))
			space := g.Indexes()[0].ID
			tx, err := g.Begin(ctx, shard.Write)
			require.NoError(t, err)
			typ, err := tx.Type("T")
			require.NoError(t, err)
			tx.Rollback()
			key := func(i uint64) graph.Value {
				n := i * bulk.Spread >> 30
				if text {
					return graph.StringValue(fmt.Sprint("user-", n))
				}
				return graph.IntValue(int64(n))
			}
			live := func() int {
				runtime.GC()
				runtime.GC() // empties pools
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return int(m.HeapAlloc)
			}
			before, most := live(), 0
			// What flushes and compactions hold while they run does not count: they end.
			measure := func() {
				held := live() - before
				for end := time.Now().Add(20 * time.Second); held >= 4*memory && time.Now().Before(end); {
					held = live() - before
				}
				most = max(most, held)
			}
			vals := make([]graph.Value, batch)
			for from := uint64(0); from < vertices; from += batch {
				for i := range vals {
					vals[i] = key(from + uint64(i))
				}
				l := &shard.Load{Vertices: []shard.LoadVertices{{Labels: graph.NoLabels, Space: space, Keys: vals, Action: shard.Insert}}}
				require.NoError(t, g.Load(ctx, l))
				require.Equal(t, batch, l.Counts.Vertices.Created)
				if from%(vertices/4) == 0 {
					measure()
				}
			}
			require.NoError(t, f.Prepare(ctx, []graph.IndexID{space}))
			measure()
			for from := uint64(0); from < vertices; from += batch {
				for i := range vals {
					vals[i] = key(from + uint64(i))
				}
				rows, err := f.Resolve(&shard.LoadEdges{Type: typ, SrcSpace: space, DstSpace: space, Src: vals, Dst: vals})
				require.NoError(t, err)
				ends, all := bulk.TakeEnds(rows)
				require.True(t, all)
				for i, id := range ends[0] {
					if id != graph.VertexID(from+uint64(i)) || ends[1][i] != id {
						t.Fatalf("key %d is vertex %d and %d", from+uint64(i), id, ends[1][i])
					}
				}
			}
			measure()
			t.Log(most>>10, "KiB")
			// In memory the table alone would take 16 or 24 MiB.
			require.Less(t, most, 4*memory)
		})
	}
}
