package local

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/shardtest"
)

// tiny are sizes that make every path of the layout common.
func tiny(rng *rand.Rand, shards int) Options {
	threshold := 16 + rng.IntN(40)
	return Options{
		Dir: "data", Shards: shards, ValueThreshold: threshold, CacheBytes: 1 << 20, MemtableBytes: 256 << 10,
		Tuning: Tuning{
			PlaceBlock: 1 + rng.IntN(5), PackVertices: 1 + rng.IntN(6), PackEdges: 1 + rng.IntN(4), SegmentBytes: 30 + rng.IntN(100), ChunkBytes: 20 + rng.IntN(500), CompactRecords: 1 + rng.IntN(50),
			CompactIdle: time.Millisecond, CompactStep: 1 + rng.IntN(20), DenseRows: 1 + rng.IntN(12),
			// The race detector makes each table dear.
			IngestBytes: []int{size(1, 1<<8), 1 << 10, 1 << 20}[threshold%3], TableBytes: []int{size(1, 1<<8), 1 << 20}[threshold/2%2],
		},
	}
}

// seeds returns the seeds of a random test: a few, or as many as HOPGATE_SEEDS says.
func seeds(n int) int {
	if testing.Short() {
		n = max(1, n/8)
	}
	if s, err := strconv.Atoi(os.Getenv("HOPGATE_SEEDS")); err == nil {
		return s
	}
	return n
}

// size returns a size of a random test, smaller in a short one.
func size(long, short int) int {
	if testing.Short() {
		return short
	}
	return long
}

// eachSeed returns the seeds below n, or the part of them that HOPGATE_PART asks for: 2/4 is the second of four. A long run says how long
// they took.
func eachSeed(t testing.TB, n int) iter.Seq[uint64] {
	part, parts := uint64(1), uint64(1)
	if text := os.Getenv("HOPGATE_PART"); text != "" {
		_, err := fmt.Sscanf(text, "%d/%d", &part, &parts)
		require.NoError(t, err, "HOPGATE_PART is %q, not of the form 2/4", text)
		require.True(t, 1 <= part && part <= parts, "HOPGATE_PART is %q", text)
	}
	return func(yield func(uint64) bool) {
		begin, ran := time.Now(), 0
		for seed := part - 1; seed < uint64(n); seed += parts {
			if !yield(seed) {
				return
			}
			ran++
		}
		if ran > 0 && os.Getenv("HOPGATE_SEEDS") != "" {
			took := time.Since(begin)
			t.Logf("%d seeds in %v, %v each", ran, took.Round(time.Millisecond), (took / time.Duration(ran)).Round(time.Millisecond))
		}
	}
}

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
	}, shard.Validation, shard.WireMetering)
}

// sorted returns ids in ascending order.
func sorted[T ~uint64](s []T) []T {
	s = append([]T{}, s...)
	slices.Sort(s)
	return s
}
