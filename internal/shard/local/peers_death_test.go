package local

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage"
)

// TestPeersDeath kills a shard's process, or the writer's, before and after each change that a commit over two shards makes
// in the other process. The commit is there as a whole or not at all, and it is there if it was acknowledged.
func TestPeersDeath(t *testing.T) {
	for _, dies := range []string{"shard", "writer"} {
		for _, when := range []string{"before", "after"} {
			for step, fired := 1, true; fired; step++ {
				t.Run(fmt.Sprintf("%s/%s/%d", dies, when, step), func(t *testing.T) { fired = peersDeath(t, dies, when, step) })
			}
		}
	}
}

func peersDeath(t *testing.T, dies, when string, step int) (fired bool) {
	ctx := context.Background()
	opts := Options{Dir: "data", FS: vfs.NewMem(), Shards: 2, ValueThreshold: 64, Tuning: Tuning{PlaceBlock: 1, CompactRecords: -1}}
	n := newNeighbours(t, opts)
	defer n.close()
	opts.Peers = n.writer()
	old := opts.Peers
	s, err := n.lead(opts)
	require.NoError(t, err)
	begin := func() shard.Tx {
		g, err := s.Graph(DefaultGraph)
		require.NoError(t, err)
		tx, err := g.Begin(ctx, shard.Write)
		require.NoError(t, err)
		return tx
	}
	tx := begin()
	kind, err := tx.Type("T")
	require.NoError(t, err)
	text, err := tx.Prop("text")
	require.NoError(t, err)
	ends := []shard.Mutation{{Op: shard.CreateVertex}, {Op: shard.CreateVertex}}
	require.NoError(t, tx.Apply(ctx, ends))
	require.NoError(t, tx.Commit(ctx))
	require.NotEqual(t, ends[0].Vertex.Shard(), ends[1].Vertex.Shard())

	var calls atomic.Int64
	var reached atomic.Bool // shards take changes side by side
	hook := func(no int) error {
		if calls.Add(1) != int64(step) {
			return nil
		}
		reached.Store(true)
		if dies == "shard" {
			n.kill(no)
			return nil
		}
		return errors.New("the writer is dead")
	}
	if when == "before" {
		n.before = hook
	} else {
		n.after = hook
	}
	tx = begin()
	edges := make([]shard.Mutation, 2)
	for i := range edges {
		edges[i] = shard.Mutation{
			Op: shard.CreateEdge, Edge: graph.Edge{Src: ends[i].Vertex, Dst: ends[1-i].Vertex, Type: kind},
			Props: []graph.Property{{ID: text, Value: graph.StringValue(strings.Repeat("x", 100))}},
		}
	}
	require.NoError(t, tx.Apply(ctx, edges))
	id, err := uuid.NewV7()
	require.NoError(t, err)
	tx.(*Tx).Name(storage.CommitID(id))
	committed := tx.Commit(ctx)
	n.before, n.after = nil, nil
	fired = reached.Load()
	if dies == "shard" || !fired {
		require.NoError(t, committed)
	}
	if dies == "writer" {
		require.Equal(t, fired, committed != nil)
		_ = s.Close()
		opts.Peers = n.writer()
		s, err = n.lead(opts)
		require.NoError(t, err)
		err = (&neighbour{old.(*writer), DefaultGraph, 1}).Apply(&storage.Changed{Version: 1 << 40})
		require.ErrorIs(t, err, storage.ErrFenced)
	}
	g, err := s.Graph(DefaultGraph)
	require.NoError(t, err)
	read, err := g.Begin(ctx, shard.Read)
	require.NoError(t, err)
	want := read.Counts().Edges
	if committed == nil {
		require.Equal(t, uint64(2), want)
	}
	for _, dir := range []graph.Direction{graph.Out, graph.In} {
		var res shard.Neighbours
		err := read.Expand(ctx, &shard.Expand{Sources: []graph.VertexID{min(ends[0].Vertex, ends[1].Vertex), max(ends[0].Vertex, ends[1].Vertex)}, Dir: dir, Edges: true, Props: []graph.PropID{text}}, &res)
		require.NoError(t, err)
		require.Len(t, res.Targets, int(want))
		for _, v := range res.Props[0] {
			require.Len(t, v.Str(), 100)
		}
	}
	require.Contains(t, []uint64{0, 2}, want)
	read.Rollback()
	outcome, err := g.(*Graph).Outcome(storage.CommitID(id))
	require.NoError(t, err)
	require.Equal(t, map[uint64]storage.Outcome{0: storage.OutcomeAbsent, 2: storage.OutcomeCommitted}[want], outcome)
	require.NoError(t, s.Close())
	return fired
}

// TestPeersStops stops all processes at each write and sync of the first one's files during a commit over two shards, as
// a loss of power would: what was not synced is gone. The commit is there as a whole or not at all when they start again,
// and it is there if it was acknowledged.
func TestPeersStops(t *testing.T) {
	seen := map[uint64]int{}
	steps := 0
	for stopped := true; stopped; steps++ {
		t.Run(strconv.Itoa(steps), func(t *testing.T) {
			var edges uint64
			stopped, edges = peersStop(t, steps)
			seen[edges]++
		})
	}
	require.Greater(t, steps, 3)
	require.Positive(t, seen[0], "every step is behind the commit")
	require.Greater(t, seen[2], 1, "no step is between the intent and the end")
}

// peersStop makes a commit and gives how many edges of it are there if all stops at a step; stopped tells whether the
// commit has as many.
func peersStop(t *testing.T, step int) (stopped bool, edges uint64) {
	ctx := context.Background()
	var mu sync.Mutex
	var watch bool
	var left []*vfs.MemFS // what is left of the processes' disks
	var n *neighbours
	calls := 0
	opts := Options{Dir: "data", FS: vfs.NewMem(), Shards: 2, ValueThreshold: 64, Logger: quiet(), Tuning: Tuning{PlaceBlock: 1, CompactRecords: -1}}
	stop := func() {
		for _, fs := range n.fs {
			left = append(left, fs.CrashClone(vfs.CrashCloneCfg{}))
		}
	}
	n = newWrapped(t, opts, func(no int, fs *vfs.MemFS) vfs.FS {
		if no > 0 {
			return fs
		}
		return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
			switch op.Kind {
			case errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo, errorfs.OpRename, errorfs.OpCreate:
				mu.Lock()
				defer mu.Unlock()
				if watch {
					if calls++; calls == step+1 {
						stop()
					}
				}
			}
			return nil
		}))
	})
	defer n.close()
	opts.Peers = n.writer()
	s, err := n.lead(opts)
	require.NoError(t, err)
	g, err := s.Graph(DefaultGraph)
	require.NoError(t, err)
	tx, err := g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	kind, err := tx.Type("T")
	require.NoError(t, err)
	ends := []shard.Mutation{{Op: shard.CreateVertex}, {Op: shard.CreateVertex}}
	require.NoError(t, tx.Apply(ctx, ends))
	require.NoError(t, tx.Commit(ctx))
	tx, err = g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	ms := []shard.Mutation{
		{Op: shard.CreateEdge, Edge: graph.Edge{Src: ends[0].Vertex, Dst: ends[1].Vertex, Type: kind}},
		{Op: shard.CreateEdge, Edge: graph.Edge{Src: ends[1].Vertex, Dst: ends[0].Vertex, Type: kind}},
	}
	require.NoError(t, tx.Apply(ctx, ms))
	mu.Lock()
	watch = true
	mu.Unlock()
	require.NoError(t, tx.Commit(ctx))
	mu.Lock()
	watch = false
	if stopped = left != nil; !stopped {
		stop() // it was acknowledged
	}
	mu.Unlock()
	require.NoError(t, s.Close())

	n.mu.Lock()
	n.wrap = nil
	for no, fs := range left {
		require.NoError(t, n.processes[no].Close())
		n.fs[no] = fs
		n.start(no)
	}
	n.mu.Unlock()
	opts.Peers = n.writer()
	s, err = n.lead(opts)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	checkClean(t, s, DefaultGraph)
	g, err = s.Graph(DefaultGraph)
	require.NoError(t, err)
	read, err := g.Begin(ctx, shard.Read)
	require.NoError(t, err)
	defer read.Rollback()
	edges = read.Counts().Edges
	require.Contains(t, []uint64{0, 2}, edges)
	if !stopped {
		require.Equal(t, uint64(2), edges, "it was acknowledged")
	}
	return stopped, edges
}
