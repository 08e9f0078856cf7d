//go:build !race

// The race detector takes more memory than what is measured.

package local

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// TestOfflineMemory loads vertices whose keys take many times the memory that they may have, integers and texts, and looks
// all of them up as the ends of edges.
func TestOfflineMemory(t *testing.T) {
	const vertices, batch, memory = 400_000, 10_000, 2 << 20
	for _, text := range []bool{false, true} {
		t.Run(fmt.Sprint("text=", text), func(t *testing.T) {
			f, err := OpenOffline(Options{
				Dir: t.TempDir(), MemtableBytes: 1 << 20, CacheBytes: 1 << 20, DecodedBytes: -1,
				Tuning: Tuning{FoldRecords: -1},
			}, "default", OfflineOptions{Memory: memory})
			require.NoError(t, err)
			defer func() { require.NoError(t, f.Close()) }()
			ctx := t.Context()
			require.NoError(t, f.g.CreateIndex(ctx, graph.Index{Name: "space_s", Unique: true, Indexed: true}))
			space := f.g.Indexes()[0].ID
			tx, err := f.g.Begin(ctx, shard.Write)
			require.NoError(t, err)
			typ, err := tx.Type("T")
			require.NoError(t, err)
			tx.Rollback()
			key := func(i uint64) graph.Value {
				n := i * spread >> 30
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
				require.NoError(t, f.g.Load(ctx, l))
				require.Equal(t, batch, l.AppliedVertices)
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
				r := rows.(*resolvedRows)
				require.Empty(t, r.missing)
				for i, id := range r.ends[0] {
					if id != graph.VertexID(from+uint64(i)) || r.ends[1][i] != id {
						t.Fatalf("key %d is vertex %d and %d", from+uint64(i), id, r.ends[1][i])
					}
				}
				resolvedPool.Put(r)
			}
			measure()
			t.Log(most>>10, "KiB")
			// In memory the table alone would take 16 or 24 MiB.
			require.Less(t, most, 4*memory)
		})
	}
}
