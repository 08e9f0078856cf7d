package local

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// The sizes of the tests below: enough for several blob files, each of which keeps some live values.
const (
	reclaimValues = 1000
	reclaimSize   = 2 << 10
)

// reclaimGraph is a graph of vertices with a large value each.
type reclaimGraph struct {
	t     *testing.T
	opts  Options
	store *Store
	g     *Graph
	ids   []graph.VertexID
	text  []string // the value of each, "" if it is deleted
	rng   *rand.Rand
}

func newReclaimGraph(t *testing.T) *reclaimGraph {
	r := &reclaimGraph{
		t: t, rng: rand.New(rand.NewPCG(1, 2)),
		opts: Options{
			Dir: "data", FS: vfs.NewMem(), ValueThreshold: 64,
			Tuning: Tuning{CompactIdle: time.Millisecond, ReclaimRest: time.Millisecond, ReclaimBytes: 4 << 10},
		},
	}
	r.open()
	for i := range reclaimValues {
		r.ids, r.text = append(r.ids, 0), append(r.text, "")
		if i%100 == 99 {
			r.write(i-99, i+1, 1)
		}
	}
	return r
}

func (r *reclaimGraph) open() {
	var err error
	r.store, err = Open(r.opts)
	require.NoError(r.t, err)
	r.g, err = r.store.Local(DefaultGraph)
	require.NoError(r.t, err)
}

// write returns every step-th vertex of a range a new value in one transaction, making it if it is not there.
func (r *reclaimGraph) write(from, to, step int) {
	ctx := context.Background()
	tx, err := r.g.Begin(ctx, shard.Write)
	require.NoError(r.t, err)
	p, err := tx.Prop("text")
	require.NoError(r.t, err)
	set, err := tx.LabelSet(nil)
	require.NoError(r.t, err)
	var ms []shard.Mutation
	for i := from; i < to; i += step {
		b := make([]byte, reclaimSize)
		for k := range b {
			b[k] = byte(33 + r.rng.IntN(90))
		}
		m := shard.Mutation{Op: shard.SetVertex, Vertex: r.ids[i], Props: []graph.Property{{ID: p, Value: graph.StringValue(string(b))}}}
		if r.text[i] == "" {
			m.Op, m.Labels = shard.CreateVertex, set
		}
		r.text[i] = string(b)
		ms = append(ms, m)
	}
	require.NoError(r.t, tx.Apply(ctx, ms))
	require.NoError(r.t, tx.Commit(ctx))
	for i, k := from, 0; i < to; i, k = i+step, k+1 {
		r.ids[i] = ms[k].Vertex
	}
}

// shrink deletes or rewrites four of five values.
func (r *reclaimGraph) shrink(overwrite bool) {
	ctx := context.Background()
	if overwrite {
		for n := 1; n < 5; n++ {
			r.write(n, len(r.ids), 5)
		}
		return
	}
	tx, err := r.g.Begin(ctx, shard.Write)
	require.NoError(r.t, err)
	var ms []shard.Mutation
	for i, id := range r.ids {
		if i%5 != 0 {
			ms = append(ms, shard.Mutation{Op: shard.DeleteVertex, Vertex: id})
			r.text[i] = ""
		}
	}
	require.NoError(r.t, tx.Apply(ctx, ms))
	require.NoError(r.t, tx.Commit(ctx))
}

// check reads all values through a transaction.
func (r *reclaimGraph) check(tx shard.Tx, text []string) {
	p, _ := r.g.Catalog.Prop("text")
	out := shard.Columns(1, len(r.ids))
	require.NoError(r.t, tx.Properties(context.Background(), r.ids, []graph.PropID{p}, out))
	for i, v := range out[0] {
		got := ""
		if !v.IsNull() {
			got = v.Str()
		}
		require.Equal(r.t, text[i], got)
	}
}

// small reports whether the disk use is less than twice the bytes that live. Some of those may not be flushed yet, and so not
// be separated.
func (r *reclaimGraph) small() bool {
	live := uint64(0)
	for _, s := range r.text {
		live += uint64(len(s))
	}
	s := r.g.Stats()[0]
	return s.Graph.DiskBytes+s.Values.DiskBytes < 2*live && s.Values.SeparatedDead < live && s.Values.SeparatedLive > live/2
}

func (r *reclaimGraph) wait() {
	r.t.Helper()
	require.Eventually(r.t, r.small, time.Minute, 5*time.Millisecond)
	tx, err := r.g.Begin(context.Background(), shard.Read)
	require.NoError(r.t, err)
	defer tx.Rollback()
	r.check(tx, r.text)
}

// TestReclaim deletes or overwrites four fifths of the large values of a store that is left alone then: its disk use
// must fall below twice what lives, without a restart.
func TestReclaim(t *testing.T) {
	for _, overwrite := range []bool{false, true} {
		r := newReclaimGraph(t)
		r.shrink(overwrite)
		r.wait()
		require.NoError(t, r.store.Close())
	}
}

// TestReclaimSnapshots reclaims although there is a newer snapshot. An older one keeps its values, but for no longer
// than it lasts.
func TestReclaimSnapshots(t *testing.T) {
	r := newReclaimGraph(t)
	old, err := r.g.Begin(context.Background(), shard.Read)
	require.NoError(t, err)
	before := append([]string(nil), r.text...)
	r.shrink(false)
	require.NoError(t, r.g.Settle(context.Background()))
	newer, err := r.g.Begin(context.Background(), shard.Read)
	require.NoError(t, err)
	dead := func() bool { return r.g.Stats()[0].Values.SeparatedDead > reclaimSize*reclaimValues/2 }
	require.Eventually(t, dead, time.Minute, time.Millisecond)
	r.check(old, before)
	require.False(t, r.small())
	old.Rollback()
	r.wait()
	r.check(newer, r.text)
	newer.Rollback()
	require.NoError(t, r.store.Close())
}

// TestReclaimReopened finds the garbage that a process has left to the next one.
func TestReclaimReopened(t *testing.T) {
	r := newReclaimGraph(t)
	require.NoError(t, r.store.Close())
	r.opts.Tuning.ReclaimBytes = -1
	r.open()
	r.shrink(false)
	require.NoError(t, r.g.Settle(context.Background()))
	require.NoError(t, r.store.Close())
	r.opts.Tuning.ReclaimBytes = 4 << 10
	r.open()
	r.wait()
	require.NoError(t, r.store.Close())
}
