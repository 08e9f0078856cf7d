package local

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/replica"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/datadir"
	"github.com/hopgate/hopgate/internal/shard/local/part"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// adopt opens the directory of a single server as that of a process of a cluster, which is the only member of the group yet, and returns the
// records of the default graph.
func adopt(t *testing.T, fs vfs.FS) *storage.Records {
	layout := shard.Layout{Processes: 3, Shards: 1, Replicas: 3}
	all, err := part.OpenReplicas(Options{Dir: "data", FS: fs, Logger: quiet()}, layout, 0, part.Network{Send: func(uint32, []*replica.Message) {}})
	require.NoError(t, err)
	status := all.Replicas()
	require.Len(t, status, 1)
	require.Equal(t, []uint64{layout.First(0)}, status[0].Members.Voters())
	require.NoError(t, all.Host().Read(t.Context(), 0), "it leads, and has what it had committed")
	require.GreaterOrEqual(t, status[0].FirstIndex, uint64(replica.BeginIndex+1), "a member without the state is seeded")
	p, err := all.Parts(0).Part(DefaultGraph)
	require.NoError(t, err)
	from := []byte{byte(keys.Meta) + 1}
	out, err := p.Walk(p.Epoch(), 0, &storage.Walk{Store: storage.GraphStore, Lower: from, From: from, Bytes: 1 << 30})
	require.NoError(t, err)
	require.True(t, out.Done)
	require.NoError(t, all.Close())
	return out
}

// TestAdopt makes the directory of a single server that of a member of a group, with a crash at any write: it starts as it was, or else as a
// member, and has all that it had.
func TestAdopt(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	first := vfs.NewCrashableMem()
	l, err := openLedger(Options{Dir: "data", FS: first, Logger: quiet()})
	require.NoError(t, err)
	for range 30 {
		require.NoError(t, l.write(rng))
	}
	require.NoError(t, l.store.Close())
	want := adopt(t, first.CrashClone(vfs.CrashCloneCfg{}))
	require.NotEmpty(t, want.Keys)

	var mu sync.Mutex
	var left []*vfs.MemFS
	var ops []string
	mem := first.CrashClone(vfs.CrashCloneCfg{})
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			mu.Lock()
			defer mu.Unlock()
			if !strings.Contains(op.Path, "shard-0000") && !strings.HasPrefix(op.Path, "data/log") || rng.IntN(32) == 0 {
				// All or none: Pebble relies on a directory to keep the order of its changes.
				left = append(left, mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100 * rng.IntN(2), RNG: rng}))
				ops = append(ops, op.Path)
			}
		}
		return nil
	}))
	adopt(t, fs)
	mu.Lock() // the log may still write
	left, ops = append(left, mem.CrashClone(vfs.CrashCloneCfg{})), append(ops, "the end")
	mu.Unlock()
	asWas, asMember := 0, 0
	for i, fs := range left {
		t.Logf("crash before the write of %s", ops[i])
		if _, err := fs.Stat("data/replicas/0000/graphs"); err == nil {
			require.NoError(t, fs.RemoveAll("data/graphs")) // a file system renames at once; this one has each directory by itself
		}
		if i%2 == 0 {
			if s, err := Open(Options{Dir: "data", FS: fs, Logger: quiet()}); err == nil {
				checkClean(t, s, DefaultGraph)
				require.NoError(t, s.Close())
				asWas++
			} else {
				require.ErrorContains(t, err, "belongs to a process of a cluster")
				asMember++
			}
		}
		require.Equal(t, want.Keys, adopt(t, fs).Keys)
		require.Equal(t, want.Values, adopt(t, fs).Values)
	}
	require.Positive(t, asWas)
	require.Positive(t, asMember)
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
		{whole, shard.Layout{Processes: 3, Shards: 1, Replicas: 3}, 1, "this is process 1 of one with 1"},
		{whole, shard.Layout{Processes: 3, Shards: 3, Replicas: 3}, 0, "this is process 0 of one with 3"},
		{split, shard.Layout{Processes: 3, Shards: 1, Replicas: 3}, 0, "holds the graph default with 2 shards"},
	} {
		_, err := part.OpenReplicas(c.opts, c.layout, c.process, part.Network{Send: func(uint32, []*replica.Message) {}})
		require.ErrorContains(t, err, c.why)
		s, err := Open(c.opts)
		require.NoError(t, err, c.why)
		require.NoError(t, s.Close())
	}
	r, err := part.OpenReplicas(whole, shard.Layout{Processes: 3, Shards: 1, Replicas: 3}, 0, part.Network{Send: func(uint32, []*replica.Message) {}})
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.NoError(t, fs.MkdirAll("whole/graphs/x", 0o755))
	_, err = part.OpenReplicas(whole, shard.Layout{Processes: 3, Shards: 1, Replicas: 3}, 0, part.Network{Send: func(uint32, []*replica.Message) {}})
	require.ErrorContains(t, err, "holds graphs of a single server, such as x")
}

// TestUnlogged refuses a directory with one shard of each graph and no log, as earlier versions made it, and leaves it as it is.
func TestUnlogged(t *testing.T) {
	fs := vfs.NewMem()
	opts := Options{Dir: "data", FS: fs, Shards: 2, Logger: quiet()}
	s, err := Open(opts)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	m, err := datadir.ReadManifest(fs, "data/graphs/default")
	require.NoError(t, err)
	m.ID = 7
	require.NoError(t, datadir.WriteManifest(fs, "data/graphs/default", m))
	_, err = part.OpenReplicas(opts, shard.Layout{Processes: 2, Shards: 2, Replicas: 1}, 1, part.Network{})
	require.ErrorContains(t, err, "holds one shard of graph default without a log")
	_, err = Open(opts)
	require.ErrorContains(t, err, "holds one shard of graph default without a log")
	again, err := datadir.ReadManifest(fs, "data/graphs/default")
	require.NoError(t, err)
	require.Equal(t, m, again)
}

// TestReplicasDirectory opens directories that were made with another layout, with replicas or without.
func TestReplicasDirectory(t *testing.T) {
	layout := shard.Layout{Processes: 3, Shards: 3, Replicas: 3}
	open := func(fs vfs.FS, l shard.Layout, process int) error {
		r, err := part.OpenReplicas(Options{Dir: "data", FS: fs, Logger: quiet()}, l, process, part.Network{Send: func(uint32, []*replica.Message) {}})
		if err == nil {
			require.NoError(t, r.Close())
		}
		return err
	}
	fs := vfs.NewMem()
	require.NoError(t, open(fs, layout, 1))
	require.NoError(t, open(fs, layout, 1))
	require.ErrorContains(t, open(fs, layout, 2), "belongs to process 1 of 3")
	require.ErrorContains(t, open(fs, shard.Layout{Processes: 5, Shards: 5, Replicas: 3}, 1), "this is process 1 of 5")
	_, err := Open(Options{Dir: "data", FS: fs, Logger: quiet()})
	require.ErrorContains(t, err, "belongs to a process of a cluster")

	require.NoError(t, open(fs, shard.Layout{Processes: 3, Shards: 3, Replicas: 3}, 1))
	fs = vfs.NewMem()
	one := shard.Layout{Processes: 3, Shards: 3, Replicas: 1}
	require.NoError(t, open(fs, one, 1))
	require.NoError(t, open(fs, layout, 1)) // it gets more replicas
	require.ErrorContains(t, open(fs, one, 1), "with 3 shards of 3 replicas")

	fs = vfs.NewMem()
	s, err := Open(Options{Dir: "data", FS: fs, Logger: quiet()})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.ErrorContains(t, open(fs, layout, 0), "it can become the first process of a cluster with one shard, and this is process 0 of one with 3")
}
