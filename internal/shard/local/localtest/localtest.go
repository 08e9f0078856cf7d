// Package localtest has what the tests of a process's shards share; only tests import it.
package localtest

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage"
)

// Quiet is a logger that writes nothing.
func Quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Options are sizes that make every path of the layout common.
func Options(rng *rand.Rand, shards int) storage.Options {
	threshold := 16 + rng.IntN(40)
	return storage.Options{
		Dir: "data", Shards: shards, ValueThreshold: threshold, CacheBytes: 1 << 20, MemtableBytes: 256 << 10,
		LogBytes: []int64{0, 4 << 10, 1 << 30}[threshold/6%3],
		Tuning: storage.Tuning{
			PlaceBlock: 1 + rng.IntN(5), PackVertices: 1 + rng.IntN(6), PackEdges: 1 + rng.IntN(4), SegmentBytes: 30 + rng.IntN(100), ChunkBytes: 20 + rng.IntN(500), CompactRecords: 1 + rng.IntN(50),
			CompactIdle: time.Millisecond, CompactStep: 1 + rng.IntN(20), DenseRows: 1 + rng.IntN(12),
			// The race detector makes each table dear.
			IngestBytes: []int{Size(1, 1<<8), 1 << 10, 1 << 20}[threshold%3], TableBytes: []int{Size(1, 1<<8), 1 << 20}[threshold/2%2],
		},
	}
}

// Seeds returns the seeds of a random test: a few, or as many as HOPGATE_SEEDS says.
func Seeds(n int) int {
	if testing.Short() {
		n = max(1, n/8)
	}
	if s, err := strconv.Atoi(os.Getenv("HOPGATE_SEEDS")); err == nil {
		return s
	}
	return n
}

// Size returns a size of a random test, smaller in a short one.
func Size(long, short int) int {
	if testing.Short() {
		return short
	}
	return long
}

// EachSeed returns the seeds below n, or the part of them that HOPGATE_PART asks for: 2/4 is the second of four. A long run says how long
// they took.
func EachSeed(t testing.TB, n int) iter.Seq[uint64] {
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

// CheckClean checks a graph in which nothing is wrong.
func CheckClean(t testing.TB, s shard.Maintainer, name string) *shard.CheckReport {
	rep, err := s.Check(context.Background(), name, shard.CheckOptions{})
	require.NoError(t, err)
	for _, f := range rep.Findings {
		t.Errorf("%s: %d: %s", f.Kind, f.Count, strings.Join(f.Examples, "; "))
	}
	if t.Failed() {
		t.FailNow()
	}
	return rep
}

// Vertices returns the vertices that a transaction sees with a label, or all if it is 0, by several scans.
func Vertices(t testing.TB, tx shard.Tx, label graph.LabelID) (all []graph.VertexID) {
	for from, done := graph.VertexID(0), false; !done; {
		var ids []graph.VertexID
		var err error
		ids, from, done, err = tx.Scan(context.Background(), label, from, make([]graph.VertexID, 0, 100))
		require.NoError(t, err)
		all = append(all, ids...)
	}
	return all
}
