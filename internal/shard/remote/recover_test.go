package remote_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/local/part"
)

// TestRecover has two of three processes lose their disks. The third is recovered, and has all that it had; the others wait until they
// are replaced, and do not begin another group. Then the recovered one ends, and a commit follows.
func TestRecover(t *testing.T) {
	c := newReplicated(t, 3, 2)
	gateway := c.gateway()
	p := newPairs(t, gateway)
	for range 10 {
		p.write()
	}
	const left = 1
	require.Eventually(t, func() bool { return c.caughtUp(left) }, time.Minute, time.Millisecond)
	opts := local.Options{Dir: "data", FS: c.fs[left], Logger: slog.New(slog.DiscardHandler)}
	c.lose(0)
	c.lose(2)
	c.kill(left)

	opts.FS = c.fs[left]
	_, err := part.Recover(opts, 2, true)
	require.ErrorContains(t, err, "has no replica of shard 2")
	lock, err := opts.FS.Lock("data/LOCK")
	require.NoError(t, err)
	_, err = part.Recover(opts, -1, true)
	require.ErrorContains(t, err, "in use by another process")
	require.NoError(t, lock.Close())
	plan, err := part.Recover(opts, -1, false)
	require.NoError(t, err)
	require.Len(t, plan, 2)
	for no := range plan {
		require.Equal(t, no, plan[no].Shard)
		require.Equal(t, []int{0, 2}, plan[no].Lost)
	}
	crashRecover(t, c.fs[left])
	done, err := part.Recover(opts, -1, true)
	require.NoError(t, err)
	require.Equal(t, plan[0].Former, done[0].Former, "without force, nothing was changed")

	c.start(left)
	for i := range c.processes {
		if i != left {
			c.start(i)
		}
	}
	p.read()
	p.write()
	for _, i := range []int{0, 2} {
		require.Eventually(t, func() bool {
			err := c.processes[i].Ready()
			return err != nil && strings.Contains(err.Error(), "member replace")
		}, time.Minute, time.Millisecond)
	}
	for _, i := range []int{0, 2} {
		n, err := gateway.ReplaceMember(t.Context(), i)
		require.NoError(t, err)
		require.Equal(t, 2, n)
		require.Eventually(t, func() bool { return c.processes[i].Ready() == nil }, time.Minute, time.Millisecond)
		for no, s := range c.processes[i].Local().Replicas() {
			require.Equal(t, i, c.layout.Process(s.Replica), "shard %d", no)
			require.Greater(t, s.Replica, c.layout.First(i), "shard %d", no)
		}
		p.write()
	}
	c.kill(left)
	p.write()
	p.verify(gateway)
}

// crashRecover recovers what a crash has left before each write of a recovery.
func crashRecover(t *testing.T, disk *vfs.MemFS) {
	rng := rand.New(rand.NewPCG(1, 2))
	opts := local.Options{Dir: "data", Logger: slog.New(slog.DiscardHandler)}
	verify := func(fs *vfs.MemFS, what string) {
		opts.FS = fs
		found, err := part.Recover(opts, -1, false)
		require.NoError(t, err, what)
		for _, r := range found {
			require.Empty(t, r.Former, what)
			require.Equal(t, r.Last, r.Committed, what)
		}
	}
	var mu sync.Mutex
	var left []*vfs.MemFS
	mem := disk.CrashClone(vfs.CrashCloneCfg{})
	opts.FS = errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			mu.Lock()
			defer mu.Unlock()
			// All or none: Pebble relies on a directory to keep the order of its changes.
			left = append(left, mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100 * rng.IntN(2), RNG: rng}))
		}
		return nil
	}))
	_, err := part.Recover(opts, -1, true)
	require.NoError(t, err)
	verify(mem.CrashClone(vfs.CrashCloneCfg{}), "what is recovered is durable")
	require.Greater(t, len(left), 10)
	for i, fs := range left {
		what := fmt.Sprintf("crashed after %d writes", i)
		opts.FS = fs
		_, err := part.Recover(opts, -1, true)
		require.NoError(t, err, what)
		verify(fs.CrashClone(vfs.CrashCloneCfg{}), what)
	}
}

// TestRecoverRefuses has directories that cannot be recovered: without replicas, without a log, with a damaged one.
func TestRecoverRefuses(t *testing.T) {
	fs := vfs.NewCrashableMem()
	opts := local.Options{Dir: "data", FS: fs, Logger: slog.New(slog.DiscardHandler)}
	_, err := part.Recover(opts, -1, true)
	require.Equal(t, graph.KindInvalid, graph.AsError(err).Kind, err)
	names, err := fs.List("")
	require.NoError(t, err)
	require.Empty(t, names)

	c := newReplicated(t, 3, 1)
	newPairs(t, c.gateway()).write()
	require.Eventually(t, func() bool { return c.caughtUp(0) }, time.Minute, time.Millisecond)
	c.kill(0)
	opts.FS = c.fs[0]
	require.NoError(t, c.fs[0].Rename("data/log", "data/x"))
	_, err = part.Recover(opts, 0, true)
	require.ErrorContains(t, err, "the log of the replicas")
	names, err = c.fs[0].List("data")
	require.NoError(t, err)
	require.NotContains(t, names, "log")
	require.NoError(t, c.fs[0].Rename("data/x", "data/log"))

	_, err = part.Recover(opts, 0, false) // makes tables of the log
	require.NoError(t, err)
	names, err = c.fs[0].List("data/log")
	require.NoError(t, err)
	damaged := 0
	for _, name := range names {
		if strings.HasSuffix(name, ".sst") {
			f, err := c.fs[0].OpenReadWrite("data/log/"+name, vfs.WriteCategoryUnspecified)
			require.NoError(t, err)
			_, err = f.WriteAt([]byte("damage"), 10)
			require.NoError(t, err)
			require.NoError(t, f.Close())
			damaged++
		}
	}
	require.NotZero(t, damaged)
	_, err = part.Recover(opts, 0, true)
	require.ErrorContains(t, err, "the log is damaged")
}
