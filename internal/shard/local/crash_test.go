package local

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/localtest"
)

// ledger writes transactions that can be told apart afterwards. Transaction n makes the vertex n, edges from it to
// earlier vertices; edges and vertex have a large value, and that of an earlier vertex is rewritten.
type ledger struct {
	store *Store
	g     *Graph
	label graph.LabelID
	set   graph.LabelSet
	typ   graph.TypeID
	id    graph.PropID
	text  graph.PropID
	last  graph.PropID
	index graph.IndexID

	mu    sync.Mutex
	next  int
	acked map[int]bool
	known []known // vertices of acknowledged transactions
}

type known struct {
	id graph.VertexID
	n  int
}

// openLedger opens or makes a graph of transactions.
func openLedger(opts Options) (*ledger, error) {
	store, err := Open(opts)
	if err != nil {
		return nil, err
	}
	return newLedger(store)
}

func newLedger(store *Store) (*ledger, error) {
	g, err := store.Local("default")
	if err != nil {
		return nil, err
	}
	l := &ledger{store: store, g: g, acked: map[int]bool{}}
	err = l.names()
	if err == nil && !slices.ContainsFunc(g.Indexes(), func(x graph.Index) bool { return x.Name == "n" }) {
		err = g.CreateIndex(context.Background(), graph.Index{Name: "n", Label: "N", Props: []string{"id"}, Unique: true, Indexed: true})
	}
	if err != nil {
		return l, err
	}
	l.index = g.Indexes()[0].ID
	return l, nil
}

func (l *ledger) names() (err error) {
	tx, err := l.g.Begin(context.Background(), shard.Write)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if l.label, err = tx.Label("N"); err != nil {
		return err
	}
	if l.set, err = tx.LabelSet([]graph.LabelID{l.label}); err != nil {
		return err
	}
	if l.typ, err = tx.Type("E"); err != nil {
		return err
	}
	// In order: a seed makes the same records each time.
	if l.id, err = tx.Prop("id"); err != nil {
		return err
	}
	if l.text, err = tx.Prop("text"); err != nil {
		return err
	}
	l.last, err = tx.Prop("last")
	return err
}

func large(n int) string { return strings.Repeat(fmt.Sprintf("text %d ", n), 50) }

// edgesOf is how many edges transaction n makes, if there are vertices enough.
func edgesOf(n int) int { return n % 4 }

// write makes the next transaction; ok tells that it was acknowledged.
func (l *ledger) write(rng *rand.Rand) (err error) {
	ctx := context.Background()
	l.mu.Lock()
	n := l.next
	l.next++
	var to []known
	for range edgesOf(n) {
		if len(l.known) > 0 {
			to = append(to, l.known[rng.IntN(len(l.known))])
		}
	}
	l.mu.Unlock()
	tx, err := l.g.Begin(ctx, shard.Write) // it sees what was acknowledged by now
	if err != nil {
		return err
	}
	defer tx.Rollback()
	v := []shard.Mutation{{Op: shard.CreateVertex, Labels: l.set, Props: []graph.Property{
		{ID: l.id, Value: graph.IntValue(int64(n))},
		{ID: l.text, Value: graph.StringValue(large(n))},
		{ID: l.last, Value: graph.IntValue(int64(len(to)))},
	}}}
	if err := tx.Apply(ctx, v); err != nil {
		return err
	}
	var ms []shard.Mutation
	for i, k := range to {
		if i == 0 {
			ms = append(ms, shard.Mutation{Op: shard.SetVertex, Vertex: k.id, Props: []graph.Property{{ID: l.text, Value: graph.StringValue(large(k.n))}}})
		}
		ms = append(ms, shard.Mutation{Op: shard.CreateEdge, Edge: graph.Edge{Src: v[0].Vertex, Dst: k.id, Type: l.typ}, Props: []graph.Property{
			{ID: l.id, Value: graph.IntValue(int64(n))}, {ID: l.text, Value: graph.StringValue(large(-n))},
		}})
	}
	if err := tx.Apply(ctx, ms); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked[n] = true
	l.known = append(l.known, known{v[0].Vertex, n})
	return nil
}

// check compares what is there with what was acknowledged, and each transaction with itself.
func (l *ledger) check(t *testing.T, acked map[int]bool) {
	t.Helper()
	ctx := context.Background()
	tx, err := l.g.Begin(ctx, shard.Read)
	require.NoError(t, err)
	defer tx.Rollback()
	ids := localtest.Vertices(t, tx, l.label)
	cols := shard.Columns(3, len(ids))
	require.NoError(t, tx.Properties(ctx, ids, []graph.PropID{l.id, l.text, l.last}, cols))
	var out, in shard.Neighbours
	req := shard.Expand{Sources: ids, Types: []graph.TypeID{l.typ}, Edges: true, Props: []graph.PropID{l.id, l.text}}
	require.NoError(t, tx.Expand(ctx, &req, &out))
	req.Dir = graph.In
	require.NoError(t, tx.Expand(ctx, &req, &in))
	found := map[int]bool{}
	edges := map[graph.EdgeID]string{}
	for i, id := range ids {
		require.Equal(t, graph.Int, cols[0][i].Kind(), "vertex %x has no id", uint64(id))
		n := int(cols[0][i].Int())
		require.False(t, found[n], "transaction %d stands twice", n)
		found[n] = true
		require.Equal(t, large(n), cols[1][i].Str())
		k := out.Offsets[i+1] - out.Offsets[i]
		require.EqualValues(t, cols[2][i].Int(), k, "transaction %d is not whole", n)
		for e := out.Offsets[i]; e < out.Offsets[i+1]; e++ {
			require.EqualValues(t, n, out.Props[0][e].Int())
			require.Equal(t, large(-n), out.Props[1][e].Str())
			edges[out.Edges[e]] = fmt.Sprint(id, out.Targets[e], n)
		}
		var res shard.Found
		require.NoError(t, tx.Seek(ctx, &shard.Seek{Index: l.index, Keys: []graph.Value{cols[0][i]}}, &res))
		require.Equal(t, []graph.VertexID{id}, res.IDs)
	}
	require.Len(t, in.Targets, len(edges))
	for i, id := range ids {
		for e := in.Offsets[i]; e < in.Offsets[i+1]; e++ {
			require.Equal(t, edges[in.Edges[e]], fmt.Sprint(in.Targets[e], id, in.Props[0][e].Int()))
		}
	}
	for n := range acked {
		require.True(t, found[n], "transaction %d was acknowledged and is lost", n)
	}
	require.EqualValues(t, len(ids), tx.Counts().Vertices)
	require.EqualValues(t, len(edges), tx.Counts().Edges)
	require.EqualValues(t, len(ids), tx.Counts().ByLabel["N"])
	// The next life goes on from here.
	l.known = l.known[:0]
	for i, id := range ids {
		l.known = append(l.known, known{id, int(cols[0][i].Int())})
	}
	for n := range found {
		l.acked[n] = true
		l.next = max(l.next, n+1)
	}
}

// TestCrash crashes in the middle of commits that run side by side, several times in a row: what was acknowledged is
// there, and of what was not, all or nothing.
func TestCrash(t *testing.T) {
	for seed := range eachSeed(t, seeds(24)) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			fs := vfs.NewCrashableMem()
			opts := tiny(rng, 1+int(seed)%3)
			for range 3 {
				opts.FS = fs
				l, err := openLedger(opts)
				require.NoError(t, err)
				l.check(t, nil)
				var wg sync.WaitGroup
				stop := make(chan struct{})
				for w := range 3 {
					wg.Go(func() {
						rng := rand.New(rand.NewPCG(seed, uint64(w)))
						for {
							select {
							case <-stop:
								return
							default:
							}
							if err := l.write(rng); err != nil && graph.AsError(err).Kind != graph.KindConflict {
								t.Error(err)
								return
							}
						}
					})
				}
				until := 5 + rng.IntN(40)
				for acked := 0; acked < until; {
					runtime.Gosched()
					l.mu.Lock()
					acked = len(l.acked)
					l.mu.Unlock()
				}
				l.mu.Lock()
				acked := map[int]bool{}
				for n := range l.acked {
					acked[n] = true
				}
				l.mu.Unlock()
				crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
				close(stop)
				wg.Wait()
				require.NoError(t, l.store.Close())

				fs = crashed
				opts.FS = fs
				l, err = openLedger(opts)
				require.NoError(t, err)
				l.check(t, acked)
				checkClean(t, l.store, "default")
				require.NoError(t, l.write(rng))
				require.NoError(t, l.g.Settle(context.Background()))
				l.check(t, l.acked)
				checkDegrees(t, l.g)
				propCounts(t, l.g)
				checkClean(t, l.store, "default")
				require.NoError(t, l.store.Close())
			}
		})
	}
}

// quiet drops the log.
func quiet() *slog.Logger { return localtest.Quiet() }
