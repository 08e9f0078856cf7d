package remote_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/shardtest"
)

// A gateway passes the suite of all backings, with one replica of each shard and with three, also after all processes have been killed.
func TestBacking(t *testing.T) {
	seeds, shards := []uint64{1, 2, 3}, []int{2, 3}
	if testing.Short() {
		seeds, shards = seeds[:1], shards[:1]
	}
	for _, replicas := range []int{1, 3} {
		t.Run(fmt.Sprintf("replicas=%d", replicas), func(t *testing.T) {
			shardtest.Run(t, slices.Values(seeds), shards, func(t *testing.T, rng *rand.Rand, shards int) shardtest.Backing {
				c := unstarted(t, max(shards, replicas), shards, local.Tuning{
					PlaceBlock: 1 + rng.IntN(5), PackVertices: 1 + rng.IntN(6), PackEdges: 1 + rng.IntN(4),
					SegmentBytes: 30 + rng.IntN(100), ChunkBytes: 20 + rng.IntN(500),
					CompactRecords: 1 + rng.IntN(50), CompactIdle: time.Millisecond, CompactStep: 1 + rng.IntN(20), DenseRows: 1 + rng.IntN(12),
				})
				c.layout.Replicas = replicas
				begin := func() shard.Graph {
					for i := range c.layout.Processes {
						c.start(i)
					}
					c.leader(0)
					g, err := c.gateway().Graph("default")
					require.NoError(t, err)
					return g
				}
				return shardtest.Backing{
					Graph: begin(),
					Settle: func(ctx context.Context) error {
						g, err := c.processes[c.leader(0)].Leading().Local("default")
						require.NoError(t, err)
						return g.Settle(ctx)
					},
					Reopen: func() shard.Graph {
						for i := range c.layout.Processes {
							c.kill(i)
						}
						return begin()
					},
				}
			}, shard.ReadMetering, shard.Passing, shard.ChangeDates, shard.DegreeBounds, shard.RuleScans)
		})
	}
}
