package oracle_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/shardtest"
)

// The oracle answers as one with other ids does.
func TestBacking(t *testing.T) {
	shardtest.Run(t, slices.Values([]uint64{1, 2}), []int{1, 2}, func(_ *testing.T, _ *rand.Rand, shards int) shardtest.Backing {
		return shardtest.Backing{Graph: oracle.NewGraph(shards + 1), Settle: func(context.Context) error { return nil }}
	}, shard.Aggregates, shard.Turns, shard.Validation, shard.ReadMetering, shard.WireMetering, shard.Passing,
		shard.ChangeDates, shard.DegreeBounds, shard.RuleScans, shard.Versions, shard.Commits, shard.Positions)
}
