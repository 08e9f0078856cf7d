package part

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/replica"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/localtest"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// keptModel is what a part must hold.
type keptModel struct {
	of             storage.PartOf
	epoch, version uint64
	values         uint64 // batches of large values in this epoch
	stores         [2]map[string]string
}

// replicaTest changes parts with one replica at random and compares them with a model.
type replicaTest struct {
	t      *testing.T
	rng    *rand.Rand
	opts   storage.Options
	fs     *vfs.MemFS
	all    *Replicas
	parts  *Parts // of all
	models map[string]*keptModel
	db     *pebble.DB // makes batches
	ids    uint64
	epoch  uint64
}

func (r *replicaTest) open() {
	r.opts.FS = r.fs
	r.all = openAlone(r.t, r.opts, 1)
	r.parts = r.all.Parts(1)
}

// crash ends the process; what it has not synced is lost in part.
func (r *replicaTest) crash() {
	left := r.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.rng.IntN(101), RNG: rand.New(rand.NewPCG(r.rng.Uint64(), 1))})
	require.NoError(r.t, r.all.Close())
	r.fs = left
	r.open()
	r.verify()
}

func (r *replicaTest) attach(m *keptModel, create bool) {
	r.epoch++
	version, err := r.parts.Attach(r.t.Context(), m.of, 1, r.epoch, create)
	require.NoError(r.t, err)
	require.Equal(r.t, m.version+1, version)
	m.epoch, m.version, m.values = r.epoch, version, 0
}

// apply has a random batch applied, twice at times.
func (r *replicaTest) apply(m *keptModel) {
	store := storage.Store(r.rng.IntN(2))
	b := r.db.NewBatch()
	after := maps.Clone(m.stores[store])
	for range 1 + r.rng.IntN(3) {
		key := []byte{byte(keys.Outcome), byte(r.rng.IntN(20))}
		if store == storage.ValuesStore {
			key = binary.BigEndian.AppendUint64(nil, uint64(1+r.rng.IntN(20)))
		}
		if r.rng.IntN(4) == 0 {
			require.NoError(r.t, b.Delete(key, nil))
			delete(after, string(key))
			continue
		}
		value := make([]byte, 1+r.rng.IntN(1<<r.rng.IntN(16)))
		binary.BigEndian.PutUint64(append(value, make([]byte, 8)...)[:8], r.rng.Uint64())
		require.NoError(r.t, b.Set(key, value, nil))
		after[string(key)] = string(value)
	}
	c := &storage.Changed{Store: store, Version: m.version, Batch: b.Repr(), Keep: r.rng.IntN(3) == 0}
	if store == storage.GraphStore {
		c.Version++
	} else {
		m.values++
		c.Version = m.values
	}
	apply := func(epoch uint64) error { return r.parts.Apply(r.t.Context(), m.of.Name, epoch, c) }
	require.ErrorIs(r.t, apply(m.epoch-1), storage.ErrFenced)
	for range 1 + r.rng.IntN(2) {
		require.NoError(r.t, apply(m.epoch))
	}
	if store == storage.GraphStore {
		c.Version += 2
		require.ErrorIs(r.t, apply(m.epoch), storage.ErrOrder)
		m.version++
	}
	m.stores[store] = after
	require.NoError(r.t, b.Close())
}

// verify compares all parts with their models.
func (r *replicaTest) verify() {
	require.Len(r.t, r.parts.all(), len(r.models))
	for name, m := range r.models {
		p, err := r.parts.Part(name)
		require.NoError(r.t, err)
		version, err := p.Attached(m.epoch)
		require.NoError(r.t, err)
		require.Equal(r.t, m.version, version)
		for store, want := range m.stores {
			got := map[string]string{}
			lower := []byte{byte(keys.Outcome)}
			if storage.Store(store) == storage.ValuesStore {
				lower = []byte{0, 0}
			}
			out, err := p.Walk(m.epoch, 0, &storage.Walk{Store: storage.Store(store), Lower: lower, From: lower, Bytes: 1 << 30})
			require.NoError(r.t, err)
			require.True(r.t, out.Done)
			for i := range out.Keys {
				got[string(out.Keys[i])] = string(out.Values[i])
			}
			require.True(r.t, maps.Equal(want, got), "store %d of graph %s: %d keys, want %d", store, name, len(got), len(want))
		}
	}
}

func (r *replicaTest) step() {
	name := fmt.Sprint("g", r.rng.IntN(3))
	m := r.models[name]
	switch p := r.rng.IntN(200); {
	case p < 6:
		r.crash()
	case p < 8:
		require.NoError(r.t, r.all.Close())
		r.open()
		r.verify()
	case m == nil:
		r.ids++
		m = &keptModel{of: storage.PartOf{Name: name, ID: r.ids, Shards: 2}, stores: [2]map[string]string{{}, {}}}
		_, err := r.parts.Attach(r.t.Context(), m.of, 1, r.epoch+1, false)
		require.Error(r.t, err)
		r.attach(m, true)
		if r.rng.IntN(3) == 0 { // a graph that was never written to makes room for another one of its name
			r.ids++
			m.of.ID, m.version = r.ids, 0
			r.attach(m, true)
		}
		r.models[name] = m
	case p < 14:
		r.attach(m, r.rng.IntN(2) == 0)
		for other, o := range r.models { // a writer attaches itself to all graphs
			if other != name {
				o.version++
				o.epoch = r.epoch
				_, err := r.parts.Attach(r.t.Context(), o.of, 1, r.epoch, false)
				require.NoError(r.t, err)
			}
		}
	case p < 18:
		require.NoError(r.t, r.parts.Drop(r.t.Context(), m.of))
		delete(r.models, name)
	case p < 22:
		require.NoError(r.t, r.parts.Flush(r.t.Context(), m.of))
	default:
		r.apply(m)
	}
}

// TestReplicaCrashes loses no acknowledged change of parts whose stores have no write-ahead log, through crashes, cuts of the log, new
// writers, and graphs that are dropped and made again.
func TestReplicaCrashes(t *testing.T) {
	for seed := range localtest.EachSeed(t, localtest.Seeds(8)) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 3))
			db, err := pebble.Open("", &pebble.Options{FS: vfs.NewMem(), Logger: pebbleQuiet{}})
			require.NoError(t, err)
			defer func() { require.NoError(t, db.Close()) }()
			opts := localtest.Options(rng, 2)
			opts.Logger, opts.Tuning.LogBytes = localtest.Quiet(), 64<<10
			r := &replicaTest{t: t, rng: rng, opts: opts, fs: vfs.NewCrashableMem(), models: map[string]*keptModel{}, db: db}
			r.open()
			for range 400 {
				r.step()
			}
			r.crash()
			require.NoError(t, r.all.Close())
		})
	}
}

type pebbleQuiet struct{}

func (pebbleQuiet) Infof(string, ...any)  {}
func (pebbleQuiet) Errorf(string, ...any) {}
func (pebbleQuiet) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

// TestReplicaDirectory opens a directory without its log, or without what says which log it goes with. Graphs open only with the log that
// has their last changes.
func TestReplicaDirectory(t *testing.T) {
	ctx := context.Background()
	fs := vfs.NewMem()
	of := storage.PartOf{Name: "g", ID: 7, Shards: 2}
	open := func() (*Replicas, error) {
		return OpenReplicas(storage.Options{Dir: "data", FS: fs, Logger: localtest.Quiet()}, shard.Layout{Processes: 2, Shards: 2, Replicas: 1}, 1, Network{})
	}
	change := func(r *Replicas, epoch uint64) {
		require.NoError(t, r.Host().Begin(ctx, 1))
		_, err := r.Parts(1).Attach(ctx, of, 1, epoch, true)
		require.NoError(t, err)
		require.NoError(t, r.Writable())
		require.NoError(t, r.Close())
	}
	r, err := open()
	require.NoError(t, err)
	change(r, 1)
	require.ErrorIs(t, r.Parts(1).Apply(ctx, "g", 1, &storage.Changed{}), replica.ErrStopped)

	name := "data/" + ReplicaDir(1) + "/" + replicaName
	require.NoError(t, fs.Rename(name, "data/x"))
	_, err = open()
	require.ErrorContains(t, err, "the log has entries")
	require.NoError(t, fs.Rename("data/x", name))
	require.NoError(t, fs.Rename("data/"+logName, "data/x"))
	_, err = open()
	require.ErrorContains(t, err, "the graphs belong to log")
	require.NoError(t, fs.RemoveAll("data/"+logName))
	require.NoError(t, fs.Rename("data/x", "data/"+logName))
	r, err = open()
	require.NoError(t, err)
	p, err := r.Parts(1).Part("g")
	require.NoError(t, err)
	v, err := p.Attached(1)
	require.NoError(t, err)
	require.Equal(t, uint64(1), v)
	change(r, 2)
}

// FuzzCommand reads any bytes as a command, and writes what it has read.
func FuzzCommand(f *testing.F) {
	of := storage.PartOf{Name: "g", ID: 300, Shards: 3}
	for _, c := range []command{
		{kind: attachCommand, graph: of, epoch: 1 << 40, create: true},
		{kind: dropCommand, graph: of},
		{kind: applyCommand, graph: storage.PartOf{Name: "g"}, epoch: 9, change: storage.Changed{
			Store: storage.ValuesStore, Version: 3, Same: true, Keep: true, Gone: []uint64{1, 2}, Batch: []byte("batch"),
		}},
	} {
		b := c.append(nil)
		f.Add(b)
		got, err := readCommand(b)
		require.NoError(f, err)
		require.Equal(f, c, got)
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := readCommand(b)
		if err != nil {
			require.ErrorIs(t, err, errCommand)
			return
		}
		again, err := readCommand(c.append(nil))
		require.NoError(t, err)
		require.Equal(t, c, again)
	})
}

// TestReleaseWaits releases a replica whose records are being read: it closes behind the reader.
func TestReleaseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		var slow atomic.Bool
		answer := make(chan struct{})
		fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind == errorfs.OpFileReadAt && strings.Contains(op.Path, ReplicaDir(0)) && slow.Load() {
				<-answer
			}
			return nil
		}))
		r, err := OpenReplicas(storage.Options{Dir: "data", FS: fs, Logger: localtest.Quiet()}, shard.Layout{Processes: 1, Shards: 1, Replicas: 1}, 0, Network{})
		require.NoError(t, err)
		require.NoError(t, r.Host().Begin(ctx, 0))
		defer func() { require.NoError(t, r.Close()) }()
		of := storage.PartOf{Name: "g", ID: 7, Shards: 1}
		_, err = r.Parts(0).Attach(ctx, of, 0, 1, true)
		require.NoError(t, err)
		require.NoError(t, r.Parts(0).Flush(ctx, of))
		p, err := r.Parts(0).Part("g")
		require.NoError(t, err)
		walk := &storage.Walk{Store: storage.GraphStore, Lower: []byte{0}, From: []byte{0}, Bytes: 1 << 20}
		slow.Store(true)
		read, released := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := p.Walk(1, 0, walk)
			read <- err
		}()
		synctest.Wait()
		go func() { released <- r.Release(0) }()
		synctest.Wait()
		require.Empty(t, released)
		close(answer)
		require.NoError(t, <-read)
		require.NoError(t, <-released)
		_, err = p.Walk(1, 0, walk)
		require.Equal(t, graph.KindUnavailable, graph.AsError(err).Kind, "%v", err)
	})
}

// openAlone opens the directory of a process of a cluster with one replica of each shard, which has the shard of its number.
func openAlone(t testing.TB, o storage.Options, no int) *Replicas {
	r, err := OpenReplicas(o, shard.Layout{Processes: o.Shards, Shards: o.Shards, Replicas: 1}, no, Network{})
	require.NoError(t, err)
	require.NoError(t, r.Host().Begin(context.Background(), uint32(no)))
	return r
}
