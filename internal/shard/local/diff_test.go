package local

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/localtest"
	"github.com/hopgate/hopgate/internal/shard/shardtest"
)

var (
	tiny     = localtest.Options
	seeds    = localtest.Seeds
	size     = localtest.Size
	eachSeed = localtest.EachSeed
)

// backing is a store's graph as shardtest tests it; open opens the store.
func backing(t *testing.T, open func() *Store) (b shardtest.Backing, now func() *Store) {
	var s *Store
	begin := func() shard.Graph {
		s = open()
		g, err := s.Graph("default")
		require.NoError(t, err)
		return g
	}
	end := func() { require.NoError(t, s.Close()) }
	b.Graph = begin()
	t.Cleanup(end)
	b.Settle = func(ctx context.Context) error {
		g, err := s.Local("default")
		require.NoError(t, err)
		return g.Settle(ctx)
	}
	b.Reopen = func() shard.Graph {
		end()
		return begin()
	}
	return b, func() *Store { return s }
}

// alone opens a store with all its shards.
func alone(t *testing.T, opts Options) func() *Store {
	return func() *Store {
		s, err := Open(opts)
		require.NoError(t, err)
		return s
	}
}

// TestDifferential makes random changes to a graph and to the oracle's and compares what can be read of both.
func TestDifferential(t *testing.T) {
	shardtest.Run(t, eachSeed(t, seeds(12)), []int{1, 2, 3}, func(t *testing.T, rng *rand.Rand, shards int) shardtest.Backing {
		opts := tiny(rng, shards)
		opts.FS = vfs.NewMem()
		b, _ := backing(t, alone(t, opts))
		return b
	}, shard.Validation, shard.WireMetering, shard.DegreeBounds, shard.RuleScans)
}

// sorted returns ids in ascending order.
func sorted[T ~uint64](s []T) []T {
	s = append([]T{}, s...)
	slices.Sort(s)
	return s
}
