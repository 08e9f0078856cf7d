package local

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// TestWriteFaults makes writes fail, for good, at a random moment, and in files of one kind or all: commits then end
// with an error, reads go on, and the next process finds all that was acknowledged.
func TestWriteFaults(t *testing.T) {
	for seed := range uint64(seeds(10)) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 2))
			mem := vfs.NewCrashableMem()
			opts := tiny(rng, 1+int(seed)%3)
			opts.Logger = quiet()
			// What fails, and what with: a full disk or a broken one.
			kind := []string{"", ".log", ".sst", ".blob", "MANIFEST"}[seed%5]
			fault := []error{syscall.ENOSPC, syscall.EIO}[rng.IntN(2)]
			left := int64(20 + rng.IntN(400))
			var on atomic.Bool
			opts.FS = errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if !on.Load() || op.Kind.ReadOrWrite() != errorfs.OpIsWrite || op.Kind == errorfs.OpFileClose || !strings.Contains(path.Base(op.Path), kind) {
					return nil
				}
				if atomic.AddInt64(&left, -1) > 0 {
					return nil
				}
				return fault
			}))
			l, err := openLedger(opts)
			require.NoError(t, err)
			on.Store(true)
			failed := 0
			for i := 0; failed < 3 && i < 800; i++ {
				if err := l.write(rng); err != nil {
					require.Equal(t, graph.KindUnavailable, graph.AsError(err).Kind, "%v", err)
					failed++
				}
				if i%50 == 49 {
					// Rotate the log, to reach the other kinds of files.
					go func() { _ = l.g.Flush(context.Background()) }()
				}
			}
			acked := maps.Clone(l.acked)
			crashed := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100 * rng.IntN(2), RNG: rng})
			// Whatever has failed, what was acknowledged can still be read.
			l.check(t, acked)
			_ = l.store.Close()
			opts.FS = crashed
			l, err = openLedger(opts)
			require.NoError(t, err)
			l.check(t, acked)
			require.NoError(t, l.write(rng))
			require.NoError(t, l.store.Close())
		})
	}
}

// TestConcurrentWriteFaults makes writes fail, for good, under transactions that run side by side: each ends, and the
// next process finds all that was acknowledged and no half of anything.
func TestConcurrentWriteFaults(t *testing.T) {
	for seed := range uint64(seeds(8)) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 5))
			mem := vfs.NewCrashableMem()
			opts := tiny(rng, 1+2*int(seed%2))
			opts.Logger = quiet()
			left := 100 + rng.Int64N(400)
			var on atomic.Bool
			opts.FS = errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if on.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose && atomic.AddInt64(&left, -1) <= 0 {
					return syscall.EIO
				}
				return nil
			}))
			l, err := openLedger(opts)
			require.NoError(t, err)
			on.Store(true)
			var wg sync.WaitGroup
			for w := range 4 {
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(seed, uint64(w)))
					for failed := 0; failed < 3; {
						switch err := l.write(rng); {
						case err == nil, graph.AsError(err).Kind == graph.KindConflict:
						case graph.AsError(err).Kind == graph.KindUnavailable:
							failed++
						default:
							t.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			acked := maps.Clone(l.acked)
			crashed := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100 * rng.IntN(2), RNG: rng})
			l.check(t, acked)
			_ = l.store.Close()
			opts.FS = crashed
			l, err = openLedger(opts)
			require.NoError(t, err)
			l.check(t, acked)
			require.NoError(t, l.write(rng))
			require.NoError(t, l.store.Close())
		})
	}
}

// TestReadFaults makes reads fail at random: an answer is right, or it is an error.
func TestReadFaults(t *testing.T) {
	mem := vfs.NewMem()
	rng := rand.New(rand.NewPCG(1, 3))
	opts := tiny(rng, 2)
	opts.FS, opts.Logger = mem, quiet()
	l, err := openLedger(opts)
	require.NoError(t, err)
	for range 200 {
		require.NoError(t, l.write(rng))
	}
	require.NoError(t, l.g.Settle(context.Background()))
	require.NoError(t, l.g.Flush(context.Background()))
	require.NoError(t, l.store.Close())

	var on atomic.Bool
	opts.CacheBytes = 1
	opts.FS = errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if on.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsRead && rng.IntN(10) == 0 {
			return syscall.EIO
		}
		return nil
	}))
	l, err = openLedger(opts)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.store.Close()) }()
	ctx := context.Background()
	tx, err := l.g.Begin(ctx, shard.Read)
	require.NoError(t, err)
	defer tx.Rollback()
	all := make([]graph.VertexID, 0, 300)
	all, _, _, err = tx.Scan(ctx, l.label, 0, all)
	require.NoError(t, err)
	require.Len(t, all, 200)
	on.Store(true)
	defer on.Store(false)
	faults, right := 0, 0
	count := func(err error, check func()) {
		if err == nil {
			right++
			check()
			return
		}
		faults++
		require.Contains(t, []graph.Kind{graph.KindUnavailable, graph.KindCorrupt}, graph.AsError(err).Kind, "%v", err)
	}
	cols := columns(2, 4)
	for range 500 {
		n := rng.IntN(196)
		ids := all[n : n+4]
		err := tx.Properties(ctx, ids, []graph.PropID{l.id, l.text}, cols)
		count(err, func() {
			for i := range ids {
				require.Equal(t, large(int(cols[0][i].Int())), cols[1][i].Str())
			}
		})
		var res shard.Neighbours
		err = tx.Expand(ctx, &shard.Expand{Sources: ids, Edges: true, Props: []graph.PropID{l.text}}, &res)
		count(err, func() { require.NotZero(t, len(res.Targets)+1) })
		var found shard.Found
		err = tx.Seek(ctx, l.index, []graph.Value{graph.IntValue(int64(n))}, &found)
		count(err, func() { require.Len(t, found.IDs, 1, "a fault was taken for a missing key") })
		buf, _, done, err := tx.Scan(ctx, l.label, 0, make([]graph.VertexID, 0, 300))
		count(err, func() { require.True(t, done); require.Len(t, buf, 200) })
	}
	t.Logf("%d answers, %d faults", right, faults)
	require.NotZero(t, right)
	require.NotZero(t, faults)
}

// TestFullDiskRecovers fills the disk under the background work alone: commits are refused until there is room again.
func TestFullDiskRecovers(t *testing.T) {
	mem := vfs.NewMem()
	rng := rand.New(rand.NewPCG(1, 4))
	opts := tiny(rng, 1)
	opts.Logger = quiet()
	var full atomic.Bool
	opts.FS = errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && strings.HasSuffix(op.Path, ".sst") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return syscall.ENOSPC
		}
		return nil
	}))
	l, err := openLedger(opts)
	require.NoError(t, err)
	require.NoError(t, l.write(rng))
	full.Store(true)
	go func() { _ = l.g.Flush(context.Background()) }()
	for err == nil {
		err = l.write(rng)
	}
	require.Equal(t, graph.KindUnavailable, graph.AsError(err).Kind)
	require.ErrorIs(t, err, syscall.ENOSPC)
	full.Store(false)
	for err != nil {
		err = l.write(rng)
	}
	l.check(t, l.acked)
	require.NoError(t, l.store.Close())
}
