package local

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// groupWorld is a graph whose writer's lock the test holds, so that transactions come together.
type groupWorld struct {
	t   *testing.T
	g   *Graph
	set graph.LabelSet
	id  graph.PropID
}

func openGroupWorld(t *testing.T) *groupWorld {
	opts := Options{Dir: "data", FS: vfs.NewMem()}
	opts.EnsureDefaults()
	store, err := Open(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	g, err := store.Local("default")
	require.NoError(t, err)
	ctx := context.Background()
	require.NoError(t, g.CreateIndex(ctx, graph.Index{Name: "n", Label: "N", Props: []string{"id"}, Unique: true, Indexed: true}))
	w := &groupWorld{t: t, g: g}
	tx, err := g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	defer tx.Rollback()
	label, err := tx.Label("N")
	require.NoError(t, err)
	w.set, err = tx.LabelSet([]graph.LabelID{label})
	require.NoError(t, err)
	w.id, err = tx.Prop("id")
	require.NoError(t, err)
	return w
}

// vertex is a mutation that makes a vertex.
func (w *groupWorld) vertex(id int64) shard.Mutation {
	return shard.Mutation{Op: shard.CreateVertex, Labels: w.set, Props: []graph.Property{{ID: w.id, Value: graph.IntValue(id)}}}
}

func (w *groupWorld) begin(ms ...shard.Mutation) *Tx {
	tx, err := w.g.Begin(context.Background(), shard.Write)
	require.NoError(w.t, err)
	require.NoError(w.t, tx.Apply(context.Background(), ms))
	return tx.(*Tx)
}

// commit commits transactions while the lock is held until all of them wait, ends the contexts of some of them then, and
// gives how each ended.
func (w *groupWorld) commit(gone []*Tx, txs ...*Tx) []error {
	require.NoError(w.t, w.g.lock(context.Background()))
	unlock := sync.OnceFunc(w.g.unlock)
	defer unlock() // if it fails
	errs := make([]error, len(txs))
	ends := map[*Tx]context.CancelFunc{}
	var wg sync.WaitGroup
	for i, tx := range txs {
		ctx, end := context.WithCancel(context.Background())
		defer end()
		if slices.Contains(gone, tx) {
			ends[tx] = end
		}
		wg.Go(func() { errs[i] = tx.Commit(ctx) })
		require.Eventually(w.t, func() bool {
			w.g.commits.mu.Lock()
			defer w.g.commits.mu.Unlock()
			return slices.ContainsFunc(w.g.commits.waiting, func(c *committing) bool { return c.tx == tx })
		}, time.Minute, time.Millisecond/4)
	}
	for tx, end := range ends {
		end()
		require.Eventually(w.t, func() bool {
			w.g.commits.mu.Lock()
			defer w.g.commits.mu.Unlock()
			return !slices.ContainsFunc(w.g.commits.waiting, func(c *committing) bool { return c.tx == tx })
		}, time.Minute, time.Millisecond/4)
	}
	unlock()
	wg.Wait()
	return errs
}

func (w *groupWorld) vertices() int {
	tx, err := w.g.Begin(context.Background(), shard.Read)
	require.NoError(w.t, err)
	defer tx.Rollback()
	return int(tx.Counts().Vertices)
}

func TestCommitsComeTogether(t *testing.T) {
	w := openGroupWorld(t)
	txs := []*Tx{w.begin(w.vertex(1)), w.begin(w.vertex(2)), w.begin(w.vertex(3))}
	for _, err := range w.commit(nil, txs...) {
		require.NoError(t, err)
	}
	require.Equal(t, txs[0].seq, txs[1].seq)
	require.Equal(t, txs[0].seq, txs[2].seq)
	require.Equal(t, 3, w.vertices())
}

// TestConflictInGroup has one transaction change what another of its group has changed: the first committer wins, and the
// third is not held up.
func TestConflictInGroup(t *testing.T) {
	w := openGroupWorld(t)
	first := w.begin(w.vertex(1))
	require.NoError(t, first.Commit(context.Background()))
	v := first.Mutations()[0].Vertex
	set := func(n int64) *Tx {
		return w.begin(shard.Mutation{Op: shard.SetVertex, Vertex: v, Props: []graph.Property{{ID: w.id, Value: graph.IntValue(n)}}})
	}
	a, b, c := set(10), set(20), w.begin(w.vertex(2))
	errs := w.commit(nil, a, b, c)
	require.NoError(t, errs[0])
	require.Equal(t, graph.KindConflict, graph.AsError(errs[1]).Kind)
	require.NoError(t, errs[2])
	require.Equal(t, a.seq, c.seq)
	tx, err := w.g.Begin(context.Background(), shard.Read)
	require.NoError(t, err)
	defer tx.Rollback()
	cols := shard.Columns(1, 1)
	require.NoError(t, tx.Properties(context.Background(), []graph.VertexID{v}, []graph.PropID{w.id}, cols))
	require.Equal(t, graph.IntValue(10), cols[0][0])
}

// TestViolationInGroup has two transactions of a group break a constraint together: each is then committed by itself, so
// that only the later one fails.
func TestViolationInGroup(t *testing.T) {
	w := openGroupWorld(t)
	errs := w.commit(nil, w.begin(w.vertex(1)), w.begin(w.vertex(2)), w.begin(w.vertex(2)))
	failed := 0
	for _, err := range errs {
		if err != nil {
			failed++
			require.Equal(t, graph.KindConflict, graph.AsError(err).Kind, "%v", err)
		}
	}
	require.NoError(t, errs[0])
	require.Equal(t, 1, failed)
	require.Equal(t, 2, w.vertices())
}

// TestDeadlineInGroup has the time of the first, which leads, and of another end while they wait for the lock: they are
// not committed, and the others are.
func TestDeadlineInGroup(t *testing.T) {
	w := openGroupWorld(t)
	a, b, c, d := w.begin(w.vertex(1)), w.begin(w.vertex(2)), w.begin(w.vertex(3)), w.begin(w.vertex(4))
	errs := w.commit([]*Tx{a, c}, a, b, c, d)
	require.Error(t, errs[0])
	require.NoError(t, errs[1])
	require.Error(t, errs[2])
	require.NoError(t, errs[3])
	require.Equal(t, b.seq, d.seq)
	require.Equal(t, 2, w.vertices())
}
