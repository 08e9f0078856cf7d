package local

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/replica"
	"github.com/hopgate/hopgate/internal/shard"
)

// adopted opens the directory as one of several replicas, and compares it with the models.
func (r *replicaTest) adopted() {
	layout := shard.Layout{Processes: 3, Shards: 3, Replicas: 3}
	opts := r.opts
	opts.FS = r.fs
	all, err := OpenReplicas(opts, layout, 1, Network{Send: func(uint32, []*replica.Message) {}})
	require.NoError(r.t, err)
	status := all.Replicas()
	require.Len(r.t, status, 1)
	require.Equal(r.t, []uint64{layout.First(1)}, status[1].Members.Voters())
	require.NoError(r.t, all.Host().Read(r.t.Context(), 1), "it leads, and has what it had committed")
	require.GreaterOrEqual(r.t, status[1].FirstIndex, uint64(replica.BeginIndex+1), "a member without the state is seeded")
	r.parts = all.Parts(1)
	r.verifyNow()
	require.NoError(r.t, all.Close())
	names, _ := r.fs.List("data/graphs") // which a refused start without replicas makes
	require.Empty(r.t, names)
}

// verifyNow is verify after the epochs of writers may have been taken back.
func (r *replicaTest) verifyNow() {
	for name, m := range r.models {
		p, err := r.parts.Part(name)
		require.NoError(r.t, err)
		m.epoch = p.Epoch()
	}
	r.verify()
}

// TestAdopt makes a directory without replicas, or with one, that of a member of a group, with a crash at any write: it starts as it was, or
// else as a member, and has all that it had.
func TestAdopt(t *testing.T) {
	for replicas := range 2 {
		t.Run(fmt.Sprint("replicas=", replicas), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(replicas), 5))
			db, err := pebble.Open("", &pebble.Options{FS: vfs.NewMem(), Logger: pebbleQuiet{}})
			require.NoError(t, err)
			defer func() { require.NoError(t, db.Close()) }()
			opts := tiny(rng, 2)
			opts.Replicas, opts.Logger = replicas, quiet()
			r := &replicaTest{t: t, rng: rng, opts: opts, fs: vfs.NewCrashableMem(), models: map[string]*keptModel{}, db: db}
			r.open()
			for range 150 {
				r.step()
			}
			require.NotEmpty(t, r.models)
			first := r.fs.CrashClone(vfs.CrashCloneCfg{})
			require.NoError(t, r.parts.Close())

			var mu sync.Mutex
			var left []*vfs.MemFS
			var ops []string
			mem := first
			r.opts.FS = errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
					mu.Lock()
					defer mu.Unlock()
					if !strings.Contains(op.Path, "shard-0001") && !strings.HasPrefix(op.Path, "data/log") || rng.IntN(32) == 0 {
						// All or none: Pebble relies on a directory to keep the order of its changes.
						left = append(left, mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100 * rng.IntN(2), RNG: rng}))
						ops = append(ops, op.Path)
					}
				}
				return nil
			}))
			all, err := OpenReplicas(r.opts, shard.Layout{Processes: 3, Shards: 3, Replicas: 3}, 1, Network{Send: func(uint32, []*replica.Message) {}})
			require.NoError(t, err)
			mu.Lock() // the log still writes
			left, ops = append(left, mem.CrashClone(vfs.CrashCloneCfg{})), append(ops, "the end")
			mu.Unlock()
			require.NoError(t, all.Close())
			asWas, asMember := 0, 0
			for i, fs := range left {
				t.Logf("crash before the write of %s", ops[i])
				r.fs, r.opts.FS = fs, fs
				if _, err := fs.Stat("data/replicas/0001/graphs"); err == nil {
					require.NoError(t, fs.RemoveAll("data/graphs")) // a file system renames at once; this one has each directory by itself
				}
				if i%2 == 0 {
					if r.parts, err = OpenParts(r.opts, 1); err == nil {
						r.verifyNow()
						require.NoError(t, r.parts.Close())
						asWas++
					} else {
						require.ErrorContains(t, err, "start it with the --replication")
						asMember++
					}
				}
				r.adopted()
				r.adopted()
			}
			require.Positive(t, asWas)
			require.Positive(t, asMember)
		})
	}
}

// TestAdoptRefuses has directories that do not go with their process or with the shards of the cluster. They stay as they are.
func TestAdoptRefuses(t *testing.T) {
	fs := vfs.NewMem()
	whole := Options{Dir: "whole", FS: fs, Logger: quiet()}
	s, err := Open(whole)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	split := Options{Dir: "split", FS: fs, Shards: 2, Logger: quiet()}
	s, err = Open(split)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	for _, c := range []struct {
		opts    Options
		layout  shard.Layout
		process int
		why     string
	}{
		{whole, shard.Layout{Processes: 3, Shards: 1, Replicas: 3}, 1, "its address must be among the first 1"},
		{whole, shard.Layout{Processes: 3, Shards: 3, Replicas: 3}, 0, "shards: must be 1, as whole has them without replicas, is 3"},
		{whole, shard.Layout{Processes: 3, Shards: 3, Replicas: 3}, 1, "is not the directory of shard 1"},
		{split, shard.Layout{Processes: 3, Shards: 1, Replicas: 3}, 0, "holds the graph default with 2 shards"},
	} {
		_, err := OpenReplicas(c.opts, c.layout, c.process, Network{Send: func(uint32, []*replica.Message) {}})
		require.ErrorContains(t, err, c.why)
		s, err := Open(c.opts)
		require.NoError(t, err, c.why)
		require.NoError(t, s.Close())
	}
	r, err := OpenReplicas(whole, shard.Layout{Processes: 3, Shards: 1, Replicas: 3}, 0, Network{Send: func(uint32, []*replica.Message) {}})
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.NoError(t, fs.MkdirAll("whole/graphs/x", 0o755))
	_, err = OpenReplicas(whole, shard.Layout{Processes: 3, Shards: 1, Replicas: 3}, 0, Network{Send: func(uint32, []*replica.Message) {}})
	require.ErrorContains(t, err, "beside them graphs without replicas, such as x")
}
