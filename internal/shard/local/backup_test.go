package local

import (
	"context"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/datadir"
	"github.com/hopgate/hopgate/internal/storage"
)

// copyOut writes a checkpoint's files to another file system.
func copyOut(t *testing.T, c shard.Checkpoint, to vfs.FS) {
	for i, f := range c.Files() {
		r, err := c.Open(i)
		require.NoError(t, err)
		b, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, r.Close())
		require.Len(t, b, int(f.Size))
		require.NoError(t, storage.MakeDir(to, to.PathDir(f.Path)))
		w, err := to.Create(f.Path, vfs.WriteCategoryUnspecified)
		require.NoError(t, err)
		_, err = w.Write(b)
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
}

// addPeople makes n vertices with a large text and an edge to the one before, in a transaction each.
func addPeople(t *testing.T, g shard.Graph, n int) {
	ctx := context.Background()
	text := make([]byte, 2000)
	last := graph.NoVertex
	for range n {
		tx, err := g.Begin(ctx, shard.Write)
		require.NoError(t, err)
		l, err := tx.Label("Person")
		require.NoError(t, err)
		set, err := tx.LabelSet([]graph.LabelID{l})
		require.NoError(t, err)
		p, err := tx.Prop("text")
		require.NoError(t, err)
		knows, err := tx.Type("KNOWS")
		require.NoError(t, err)
		ms := []shard.Mutation{{Op: shard.CreateVertex, Labels: set, Props: []graph.Property{{ID: p, Value: graph.StringValue(string(text))}}}}
		require.NoError(t, tx.Apply(ctx, ms))
		if last != graph.NoVertex {
			require.NoError(t, tx.Apply(ctx, []shard.Mutation{{Op: shard.CreateEdge, Edge: graph.Edge{Src: ms[0].Vertex, Dst: last, Type: knows}}}))
		}
		last = ms[0].Vertex
		require.NoError(t, tx.Commit(ctx))
	}
}

func TestCheckpoint(t *testing.T) {
	ctx := context.Background()
	fs := vfs.NewMem()
	s, err := Open(Options{Dir: "data", FS: fs, Shards: 3, Tuning: Tuning{PlaceBlock: 2}})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.NoError(t, s.CreateGraph(ctx, "other"))
	g, err := s.Graph(DefaultGraph)
	require.NoError(t, err)
	addPeople(t, g, 40)

	first, err := s.Checkpoint(ctx, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"default", "other"}, first.Graphs())
	addPeople(t, g, 20)
	second, err := s.Checkpoint(ctx, []string{"default"})
	require.NoError(t, err)
	have := map[[32]byte]bool{}
	for _, f := range first.Files() {
		have[f.SHA256] = true
	}
	old := 0
	for _, f := range second.Files() {
		if have[f.SHA256] && datadir.Immutable(f.Path) {
			old++
		}
	}
	require.Positive(t, old, "nothing is shared")
	for want, c := range map[uint64]shard.Checkpoint{40: first, 60: second} {
		to := vfs.NewMem()
		copyOut(t, c, to)
		require.NoError(t, c.Close())
		back, err := Open(Options{Dir: ".", FS: to})
		require.NoError(t, err)
		g, err := back.Graph(DefaultGraph)
		require.NoError(t, err)
		tx, err := g.Begin(ctx, shard.Read)
		require.NoError(t, err)
		require.Equal(t, want, tx.Counts().Vertices)
		require.Equal(t, map[uint64]uint64{40: 39, 60: 58}[want], tx.Counts().Edges)
		tx.Rollback()
		require.NoError(t, back.Close())
	}
	names, err := fs.List("data/checkpoints")
	require.NoError(t, err)
	require.Empty(t, names)
	_, err = s.Checkpoint(ctx, []string{"nowhere"})
	require.Error(t, err)
}

func TestInterruptedRestoreIsNoStore(t *testing.T) {
	fs := vfs.NewMem()
	require.NoError(t, storage.MakeDir(fs, "data/"+datadir.PartialName))
	_, err := Open(Options{Dir: "data", FS: fs})
	require.ErrorContains(t, err, "interrupted")
}

// delta returns the files of a checkpoint whose contents an earlier one does not have.
func delta(c, earlier shard.Checkpoint) (paths []string) {
	have := map[[32]byte]bool{}
	for _, f := range earlier.Files() {
		have[f.SHA256] = true
	}
	for _, f := range c.Files() {
		if !have[f.SHA256] {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// TestCheckpointUnderWriters takes checkpoints while transactions change vertices of several shards together: each holds
// whole transactions, and all that were acknowledged before it.
func TestCheckpointUnderWriters(t *testing.T) {
	t.Run("one process", func(t *testing.T) { checkpointUnderWriters(t, false) })
	t.Run("cluster", func(t *testing.T) { checkpointUnderWriters(t, true) })
}

func checkpointUnderWriters(t *testing.T, spread bool) {
	ctx := context.Background()
	const accounts, each, takes = 9, 1000, 3
	opts := Options{Dir: "data", FS: vfs.NewMem(), Shards: 3, Logger: quiet(), ValueThreshold: 64, Tuning: Tuning{PlaceBlock: 1}}
	var s *Store
	if spread {
		s = leadSpread(t, opts)
	} else {
		var err error
		s, err = Open(opts)
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
	}
	g, err := s.Local(DefaultGraph)
	require.NoError(t, err)
	tx, err := g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	p, err := tx.Prop("balance")
	require.NoError(t, err)
	paid, err := tx.Type("PAID")
	require.NoError(t, err)
	l, err := tx.Label("Account")
	require.NoError(t, err)
	set, err := tx.LabelSet([]graph.LabelID{l})
	require.NoError(t, err)
	ms := make([]shard.Mutation, accounts)
	for i := range ms {
		ms[i] = shard.Mutation{Op: shard.CreateVertex, Labels: set, Props: []graph.Property{{ID: p, Value: graph.IntValue(each)}}}
	}
	require.NoError(t, tx.Apply(ctx, ms))
	require.NoError(t, tx.Commit(ctx))
	var ids []graph.VertexID
	for _, m := range ms {
		ids = append(ids, m.Vertex)
	}
	slices.Sort(ids)

	// pay moves an amount over an edge between two shards.
	pay := func(rng *rand.Rand) error {
		tx, err := g.Begin(ctx, shard.Write)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		i, by := rng.IntN(accounts), int64(1+rng.IntN(9))
		j := (i + accounts/3) % accounts
		ends := []graph.VertexID{ids[min(i, j)], ids[max(i, j)]}
		cols := shard.Columns(1, 2)
		if err := tx.Properties(ctx, ends, []graph.PropID{p}, cols); err != nil {
			return err
		}
		balance := func(k int, by int64) []graph.Property {
			return []graph.Property{{ID: p, Value: graph.IntValue(cols[0][k].Int() + by)}}
		}
		err = tx.Apply(ctx, []shard.Mutation{
			{Op: shard.SetVertex, Vertex: ends[0], Props: balance(0, -by)},
			{Op: shard.SetVertex, Vertex: ends[1], Props: balance(1, by)},
			{Op: shard.CreateEdge, Edge: graph.Edge{Src: ends[0], Dst: ends[1], Type: paid}, Props: []graph.Property{{ID: p, Value: graph.IntValue(by)}}},
		})
		if err != nil {
			return err
		}
		return tx.Commit(ctx)
	}
	var acked atomic.Int64
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 3))
			for {
				select {
				case <-stop:
					return
				default:
				}
				switch err := pay(rng); {
				case err == nil:
					acked.Add(1)
				case graph.AsError(err).Kind != graph.KindConflict:
					t.Error(err)
					return
				}
			}
		})
	}
	var copies []shard.Checkpoint
	var least []int64
	for range takes {
		for until := acked.Load() + 30; acked.Load() < until && !t.Failed(); {
			runtime.Gosched()
		}
		least = append(least, acked.Load())
		c, err := s.Checkpoint(ctx, nil)
		require.NoError(t, err)
		copies = append(copies, c)
	}
	close(stop)
	writers.Wait()
	for i, c := range copies {
		back := opts
		back.Dir, back.FS = ".", vfs.NewMem()
		copyOut(t, c, back.FS)
		s, err := Open(back)
		require.NoError(t, err)
		rep, err := s.Check(ctx, DefaultGraph, shard.CheckOptions{})
		require.NoError(t, err)
		require.Empty(t, rep.Findings)
		g, err := s.Graph(DefaultGraph)
		require.NoError(t, err)
		tx, err := g.Begin(ctx, shard.Read)
		require.NoError(t, err)
		require.GreaterOrEqual(t, int64(tx.Counts().Edges), least[i])
		cols := shard.Columns(1, accounts)
		require.NoError(t, tx.Properties(ctx, ids, []graph.PropID{p}, cols))
		var out shard.Neighbours
		require.NoError(t, tx.Expand(ctx, &shard.Expand{Sources: ids, Dir: graph.Out, Edges: true, Props: []graph.PropID{p}}, &out))
		want := make(map[graph.VertexID]int64)
		for k, id := range ids {
			want[id] += each
			for e := out.Offsets[k]; e < out.Offsets[k+1]; e++ {
				require.NotEqual(t, id.Shard(), out.Targets[e].Shard())
				want[id] -= out.Props[0][e].Int()
				want[out.Targets[e]] += out.Props[0][e].Int()
			}
		}
		for k, id := range ids {
			require.Equal(t, want[id], cols[0][k].Int(), "a transaction is not whole")
		}
		tx.Rollback()
		require.NoError(t, s.Close())
		require.NoError(t, c.Close())
	}

	if spread {
		return
	}

	// Once nothing is written, no table and no blob file travels again.
	require.NoError(t, g.Settle(ctx))
	for _, sh := range g.shards {
		require.NoError(t, sh.Compact(ctx))
	}
	first, err := s.Checkpoint(ctx, nil)
	require.NoError(t, err)
	second, err := s.Checkpoint(ctx, nil)
	require.NoError(t, err)
	for _, path := range delta(second, first) {
		require.False(t, datadir.Immutable(path), path)
	}
	require.NoError(t, pay(rand.New(rand.NewPCG(1, 1))))
	third, err := s.Checkpoint(ctx, nil)
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(delta(third, second), datadir.Immutable))
	require.True(t, slices.ContainsFunc(third.Files(), func(f graph.CheckpointFile) bool {
		return datadir.Immutable(f.Path) && !slices.Contains(delta(third, second), f.Path)
	}), "everything travels again")
	for _, c := range []shard.Checkpoint{first, second, third} {
		require.NoError(t, c.Close())
	}
}

// TestCheckpointTTL restores TTLs and what is due: it is there until its time, whenever that comes.
func TestCheckpointTTL(t *testing.T) {
	ctx := context.Background()
	w := openTTLWorld(t, 2)
	defer func() { require.NoError(t, w.store.Close()) }()
	for _, ttl := range []graph.TTL{{Label: "A", After: 20 * time.Second}, {Label: "B", After: 10 * time.Second, Property: "at"}, {Type: "T", After: 5 * time.Second}} {
		require.NoError(t, w.g.SetTTL(ctx, ttl))
		w.ttls[ttl.Label+ttl.Type] = ttl
	}
	for range 60 {
		w.write()
		w.clock.advance(time.Duration(w.rng.IntN(100)) * time.Millisecond)
	}
	w.compareNow()
	c, err := w.store.Checkpoint(ctx, nil)
	require.NoError(t, err)
	var steps []int
	for _, after := range []time.Duration{0, 3 * time.Second, 4 * time.Second, 10 * time.Second, 99 * time.Second} {
		w.clock.advance(after)
		to := vfs.NewCrashableMem()
		copyOut(t, c, to)
		back := *w
		back.fs, back.opts.Dir = to, "."
		back.open()
		require.Equal(t, w.g.TTLs(), back.g.TTLs())
		back.compareNow()
		back.clean()
		require.NoError(t, back.store.Close())
		steps = append(steps, len(w.vertices)+len(w.edges))
	}
	require.NoError(t, c.Close())
	require.Greater(t, steps[0], steps[len(steps)-1], "nothing has expired")
}
