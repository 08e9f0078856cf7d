package local

import (
	"context"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/localtest"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/check"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// checkDegrees compares the degree histograms of a graph that is settled with a recount.
func checkDegrees(t *testing.T, g *Graph) {
	t.Helper()
	ctx := context.Background()
	tx, err := g.Begin(ctx, shard.Read)
	require.NoError(t, err)
	defer tx.Rollback()
	want := map[graph.TypeDir][]uint64{}
	ids := localtest.Vertices(t, tx, 0)
	degrees := make([]int, len(ids))
	for _, name := range g.AllTypes() {
		typ, _ := g.Catalog.Type(name)
		for _, dir := range []graph.Direction{graph.Out, graph.In} {
			require.NoError(t, tx.Degrees(ctx, ids, []graph.TypeID{typ}, dir, degrees))
			for _, n := range degrees {
				if n == 0 {
					continue
				}
				k := graph.TypeDir{Type: name, Dir: dir}
				for len(want[k]) < bits.Len(uint(n)) {
					want[k] = append(want[k], 0)
				}
				want[k][bits.Len(uint(n))-1]++
			}
		}
	}
	require.Equal(t, want, tx.Statistics().Degrees)
}

// TestWrongDegrees repairs wrong degree histograms.
func TestWrongDegrees(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(1, 1))
	opts := tiny(rng, 2)
	opts.FS, opts.Dir, opts.Logger = vfs.NewMem(), "data", quiet()
	l, err := openLedger(opts)
	require.NoError(t, err)
	for range 60 {
		require.NoError(t, l.write(rng))
	}
	require.NoError(t, l.g.Settle(ctx))
	checkDegrees(t, l.g)
	typ, _ := l.g.Catalog.Type("E")
	key := func(power byte) []byte {
		return keys.AppendNumbered(nil, keys.Degree, uint32(typ), byte(graph.Out), power)
	}
	l.harm(t, storage.Fix{Shard: 0, Key: key(0), Value: []byte{200, 1}}, storage.Fix{Shard: 1, Key: key(1), Delete: true},
		storage.Fix{Shard: 1, Key: key(30), Value: []byte{2}}, storage.Fix{Key: keys.AppendNumbered(nil, keys.IndexMark, 99), Value: []byte{1}})
	rep, err := l.store.Check(ctx, "default", shard.CheckOptions{Repair: true})
	require.NoError(t, err)
	require.Len(t, rep.Findings, 2)
	require.EqualValues(t, 3, finding(rep, check.FaultCounter).Repaired)
	require.EqualValues(t, 1, finding(rep, check.FaultMark).Repaired)
	checkClean(t, l.store, "default")
	checkDegrees(t, l.g)
	require.NoError(t, l.store.Close())
}
