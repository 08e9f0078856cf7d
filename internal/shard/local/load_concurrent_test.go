package local

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// Loads that run side by side, over the same vertices, lose no update: every row has added its 1, appended its element and
// made its edge.
func TestLoadsSideBySide(t *testing.T) {
	loads, batches := 4, size(25, 10)
	for _, shards := range []int{1, 3} {
		t.Run(fmt.Sprint("shards=", shards), func(t *testing.T) {
			ctx := context.Background()
			opts := tiny(rand.New(rand.NewPCG(7, uint64(shards))), shards)
			opts.FS = vfs.NewMem()
			c := openCounting(t, opts)
			var rows [countingKeys]int64
			var logs [countingKeys][]int64
			edges := 0
			var running sync.WaitGroup
			for k := range loads {
				var all []*shard.Load
				for n := range batches {
					l := c.batch(uint64(k*batches + n))
					l.Stream, l.Seq = fmt.Sprint("load ", k), uint64(n+1)
					l.Vertices[0].OnDuplicate = shard.DuplicateOverwrite
					for i, key := range l.Vertices[0].Keys {
						rows[key.Int()]++
						logs[key.Int()] = append(logs[key.Int()], l.Vertices[0].Props[1].Values[i].List()[0].Int())
					}
					edges += len(l.Edges[0].Src)
					all = append(all, l)
				}
				running.Go(func() {
					for _, l := range all {
						if !assert.NoError(t, c.g.Load(ctx, l)) {
							return
						}
						assert.Empty(t, l.Rejected)
					}
				})
			}
			running.Wait()
			tx, err := c.g.Begin(ctx, shard.Read)
			require.NoError(t, err)
			require.Equal(t, uint64(edges), tx.Counts().Edges)
			for i := range int64(countingKeys) {
				var f shard.Found
				require.NoError(t, tx.Seek(ctx, &shard.Seek{Index: c.space, Keys: []graph.Value{graph.IntValue(i)}}, &f))
				if rows[i] == 0 {
					require.Empty(t, f.IDs)
					continue
				}
				vals := shard.Columns(2, 1)
				require.NoError(t, tx.Properties(ctx, f.IDs, []graph.PropID{c.n, c.log}, vals))
				require.Equal(t, rows[i], vals[0][0].Int(), "sum at %d", i)
				var log []int64
				for _, v := range vals[1][0].List() {
					log = append(log, v.Int())
				}
				slices.Sort(log)
				slices.Sort(logs[i])
				require.Equal(t, logs[i], log, "list at %d", i)
			}
			tx.Rollback()
			checkClean(t, c.store, "default")
			require.NoError(t, c.store.Close())
		})
	}
}
