package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// TestWriteFaults makes writes fail at a random moment, and in files of one kind or all: for good, so that commits then end with an error,
// or until there is room on the disk again. Reads go on, and the next process finds all that was acknowledged.
func TestWriteFaults(t *testing.T) {
	for seed := range eachSeed(t, seeds(10)) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 2))
			mem := vfs.NewCrashableMem()
			opts := tiny(rng, 1+int(seed)%3)
			opts.Logger = quiet()
			// What fails, and what with: a full disk or a broken one.
			kind := []string{"", ".log", ".sst", ".blob", "MANIFEST"}[seed%5]
			fault := []error{syscall.ENOSPC, syscall.EIO}[rng.IntN(2)]
			left, room := int64(20+rng.IntN(400)), int64(-1<<62)
			if errors.Is(fault, syscall.ENOSPC) {
				room = -5
			}
			var on atomic.Bool
			opts.FS = errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if !on.Load() || op.Kind.ReadOrWrite() != errorfs.OpIsWrite || op.Kind == errorfs.OpFileClose || !strings.Contains(path.Base(op.Path), kind) {
					return nil
				}
				if n := atomic.AddInt64(&left, -1); n > 0 || n < room {
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
			checkClean(t, l.store, "default")
			require.NoError(t, l.write(rng))
			require.NoError(t, l.store.Close())
		})
	}
}

// TestConcurrentWriteFaults makes writes fail, for good, under transactions that run side by side: each ends, and the
// next process finds all that was acknowledged and no half of anything.
func TestConcurrentWriteFaults(t *testing.T) {
	for seed := range eachSeed(t, seeds(8)) {
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
			checkClean(t, l.store, "default")
			require.NoError(t, l.write(rng))
			require.NoError(t, l.store.Close())
		})
	}
}

// TestReadFaults makes reads fail at random, under all ways of reading: an answer is right, or it is an error.
func TestReadFaults(t *testing.T) {
	for seed := range eachSeed(t, seeds(8)) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			mem := vfs.NewMem()
			rng := rand.New(rand.NewPCG(seed, 3))
			opts := tiny(rng, 1+int(seed)%3)
			opts.FS, opts.Logger = mem, quiet()
			l, err := openLedger(opts)
			require.NoError(t, err)
			// Half of it lies packed, half of it as delta records.
			for i := range 100 {
				if i == 50 {
					require.NoError(t, l.g.Settle(context.Background()))
				}
				require.NoError(t, l.write(rng))
			}
			require.NoError(t, l.g.Flush(context.Background()))
			require.NoError(t, l.store.Close())

			var rate atomic.Uint64 // of 1,000 reads, how many fail
			opts.CacheBytes, opts.TopologyBytes = 1, -1
			opts.Tuning.CompactRecords = -1
			opts.FS = errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind.ReadOrWrite() == errorfs.OpIsRead && rand.Uint64N(1000) < rate.Load() {
					return syscall.EIO
				}
				return nil
			}))
			l, err = openLedger(opts)
			require.NoError(t, err)
			defer func() { require.NoError(t, l.store.Close()) }()
			want, err := l.readAll(true)
			require.NoError(t, err)
			faults, right := 0, 0
			for i := range size(60, 24) {
				rate.Store([]uint64{1, 3, 30, 100}[i%4])
				got, err := l.readAll(i%2 == 0)
				if err == nil {
					right++
					require.True(t, want == got, "an answer lacks something")
					continue
				}
				faults++
				require.Contains(t, []graph.Kind{graph.KindUnavailable, graph.KindCorrupt}, graph.AsError(err).Kind, "%v", err)
			}
			rate.Store(0)
			t.Logf("%d answers, %d faults", right, faults)
			require.NotZero(t, faults)
			got, err := l.readAll(true)
			require.NoError(t, err)
			require.True(t, want == got)
		})
	}
}

// TestFullDisk fills the disk under files of one kind or all: commits that have begun wait, others are refused, reads go on, and
// once there is room again the store takes writes as before.
func TestFullDisk(t *testing.T) {
	for _, kind := range []string{"", ".log", ".sst", ".blob", "MANIFEST"} {
		t.Run("kind="+kind, func(t *testing.T) {
			ctx := context.Background()
			rng := rand.New(rand.NewPCG(1, 4))
			opts := tiny(rng, 1)
			opts.Logger = quiet()
			var full atomic.Bool
			opts.FS = errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
				if full.Load() && strings.Contains(path.Base(op.Path), kind) && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose {
					return syscall.ENOSPC
				}
				return nil
			}))
			l, err := openLedger(opts)
			require.NoError(t, err)
			for range 20 {
				require.NoError(t, l.write(rng))
			}
			require.NoError(t, l.store.Writable())
			full.Store(true)
			begun := make(chan error, 2)
			go func() { begun <- l.g.Flush(ctx) }()
			go func() { begun <- l.write(rand.New(rand.NewPCG(1, 5))) }()
			require.Eventually(t, func() bool { return l.store.Writable() != nil }, time.Minute, time.Millisecond)
			require.ErrorIs(t, l.store.Writable(), syscall.ENOSPC)
			err = l.write(rng)
			require.Equal(t, graph.KindUnavailable, graph.AsError(err).Kind, "%v", err)
			require.ErrorIs(t, err, syscall.ENOSPC)
			_, err = l.readAll(true)
			require.NoError(t, err)
			full.Store(false)
			require.Eventually(t, func() bool { return l.store.Writable() == nil }, time.Minute, time.Millisecond)
			for range cap(begun) {
				if err := <-begun; err != nil {
					require.ErrorIs(t, err, syscall.ENOSPC)
				}
			}
			for range 20 {
				require.NoError(t, l.write(rng))
			}
			l.check(t, l.acked)
			require.NoError(t, l.store.Close())
			l, err = openLedger(opts)
			require.NoError(t, err)
			l.check(t, l.acked)
			require.NoError(t, l.store.Close())
		})
	}
}

// TestFullDiskAtStart opens a store on a full disk: opening waits for room, says so, and ends when the process is to end.
func TestFullDiskAtStart(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 6))
	mem := vfs.NewCrashableMem()
	opts := tiny(rng, 1)
	opts.Logger, opts.FS = quiet(), mem
	l, err := openLedger(opts)
	require.NoError(t, err)
	for range 20 {
		require.NoError(t, l.write(rng))
	}
	crashed := mem.CrashClone(vfs.CrashCloneCfg{})
	require.NoError(t, l.store.Close())
	for _, kind := range []string{".log", ".sst", "MANIFEST"} {
		interrupt := make(chan struct{})
		var said safeBuffer
		o := opts
		o.Interrupt, o.Logger = interrupt, slog.New(slog.NewTextHandler(&said, nil))
		o.FS = errorfs.Wrap(crashed.CrashClone(vfs.CrashCloneCfg{}), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if strings.Contains(path.Base(op.Path), kind) && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose {
				return syscall.ENOSPC
			}
			return nil
		}))
		opened := make(chan error, 1)
		go func() {
			_, err := openLedger(o)
			opened <- err
		}()
		require.Eventually(t, func() bool { return strings.Contains(said.String(), "the disk is full") }, time.Minute, time.Millisecond, kind)
		close(interrupt)
		require.ErrorIs(t, <-opened, syscall.ENOSPC, kind)
	}
}

// safeBuffer is a log that is read while it is written.
type safeBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
