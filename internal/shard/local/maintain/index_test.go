package maintain_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/shard/local/localtest"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// indexWorld is a graph of vertices and edges with the properties p, of few values, and k, of which each has its own.
type indexWorld struct {
	store *local.Store
	g     *local.Graph
	label graph.LabelID
	set   graph.LabelSet
	typ   graph.TypeID
	p, k  graph.PropID

	mu       sync.Mutex
	next     int64
	vertices []graph.VertexID
	edges    []graph.Edge
}

func openIndexWorld(t *testing.T, opts local.Options) *indexWorld {
	store, err := local.Open(opts)
	require.NoError(t, err)
	g, err := store.Local("default")
	require.NoError(t, err)
	w := &indexWorld{store: store, g: g}
	tx, err := g.Begin(context.Background(), shard.Write)
	require.NoError(t, err)
	defer tx.Rollback()
	w.label, err = tx.Label("L")
	require.NoError(t, err)
	w.set, err = tx.LabelSet([]graph.LabelID{w.label})
	require.NoError(t, err)
	w.typ, err = tx.Type("T")
	require.NoError(t, err)
	w.p, err = tx.Prop("p")
	require.NoError(t, err)
	w.k, err = tx.Prop("k")
	require.NoError(t, err)
	return w
}

func (w *indexWorld) props(rng *rand.Rand) []graph.Property {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	ps := []graph.Property{{ID: w.k, Value: graph.IntValue(w.next)}}
	switch rng.IntN(6) {
	case 4, 5:
		crs := []graph.CRS{graph.WGS84, graph.WGS843D, graph.Cartesian, graph.Cartesian3D}[rng.IntN(4)]
		ps = append(ps, graph.Property{ID: w.p, Value: graph.PointValue(graph.Point{CRS: crs, X: float64(rng.IntN(3)), Y: float64(rng.IntN(3))})})
	case 0:
		ps = append(ps, graph.Property{ID: w.p, Value: graph.StringValue(strings.Repeat("x", rng.IntN(30)))})
	case 1:
		ps = append(ps, graph.Property{ID: w.p})
	default:
		ps = append(ps, graph.Property{ID: w.p, Value: graph.IntValue(int64(rng.IntN(9)))})
	}
	return ps
}

// write makes a random transaction.
func (w *indexWorld) write(rng *rand.Rand, n int) error {
	ctx := context.Background()
	tx, err := w.g.Begin(ctx, shard.Write)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	w.mu.Lock()
	vs, es := slices.Clone(w.vertices), slices.Clone(w.edges)
	w.mu.Unlock()
	ms := make([]shard.Mutation, n)
	for i := range ms {
		m := &ms[i]
		m.Op = shard.Op([]int{0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 5, 6}[rng.IntN(13)])
		m.Props, m.Labels = w.props(rng), w.set
		switch {
		case len(vs) == 0 || len(es) == 0 && (m.Op == shard.SetEdge || m.Op == shard.DeleteEdge):
			m.Op = shard.CreateVertex
		case m.Op == shard.CreateEdge:
			m.Edge = graph.Edge{Src: vs[rng.IntN(1+rng.IntN(len(vs)))], Dst: vs[rng.IntN(len(vs))], Type: w.typ}
		case m.Op == shard.SetEdge, m.Op == shard.DeleteEdge:
			m.Edge = es[rng.IntN(len(es))]
		default:
			m.Vertex = vs[rng.IntN(len(vs))]
		}
		if m.Op == shard.SetLabels && rng.IntN(2) == 0 {
			m.Labels = graph.NoLabels
		}
	}
	if err := tx.Apply(ctx, ms); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range ms {
		switch ms[i].Op {
		case shard.CreateVertex:
			w.vertices = append(w.vertices, ms[i].Vertex)
		case shard.CreateEdge:
			w.edges = append(w.edges, ms[i].Edge)
		}
	}
	return nil
}

// expected says whether a random transaction may fail with an error: what it changes may be gone by then.
func expected(err error) bool {
	var e *graph.Error
	return errors.As(err, &e) && (e.Detail == "DeletedEntityAccess" || e.Detail == "DeleteConnectedNode" || e.Kind == graph.KindConflict)
}

// busy writes from several sides until it is stopped.
func (w *indexWorld) busy(t *testing.T, seed uint64) (stop func()) {
	end := make(chan struct{})
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			for {
				select {
				case <-end:
					return
				default:
				}
				if err := w.write(rng, 1+rng.IntN(4)); err != nil && !expected(err) {
					t.Error(err)
					return
				}
			}
		})
	}
	return func() { close(end); wg.Wait() }
}

// fill writes until there are n vertices.
func (w *indexWorld) fill(t *testing.T, rng *rand.Rand, n int) {
	for len(w.vertices) < n {
		if err := w.write(rng, 8); err != nil && !expected(err) {
			require.NoError(t, err)
		}
	}
}

var testIndexes = []graph.Index{
	{Name: "plain", Label: "L", Props: []string{"p"}, Indexed: true},
	{Name: "two", Label: "L", Props: []string{"p", "k"}, Indexed: true},
	{Name: "key", Label: "L", Props: []string{"k"}, Unique: true, Indexed: true, Required: true},
	{Name: "edges", Type: "T", Props: []string{"p"}, Indexed: true},
	{Name: "edgekey", Type: "T", Props: []string{"k"}, Unique: true, Indexed: true},
	{Name: "points", Label: "L", Props: []string{"p"}, Kind: graph.PointIndex, Indexed: true},
	{Name: "edgepoints", Type: "T", Props: []string{"p"}, Kind: graph.PointIndex, Indexed: true},
}

// entries lists the entries of an index, and those that it should have by what is there.
func (w *indexWorld) entries(t *testing.T, d *index.Def) (have, want []string) {
	ctx := context.Background()
	b, err := w.g.Begin(ctx, shard.Read)
	require.NoError(t, err)
	defer b.Rollback()
	tx := b.(*local.Tx)
	for _, v := range tx.Views() {
		require.NoError(t, v.Walk(ctx, d.ID, nil, nil, false, func(rest []byte, o graph.IndexOwner) bool {
			have = append(have, fmt.Sprintf("%x %v", rest, o))
			return true
		}))
	}
	add := func(vals []graph.Value, o graph.IndexOwner) {
		tuple, ok, loose, err := view.AppendIndexed(nil, &d.Index, vals)
		require.NoError(t, err)
		if !d.Unique || loose {
			local := o.Vertex.Local()
			if o.IsEdge {
				local = o.Edge.Local()
			}
			tuple = append(tuple, byte(local>>40), byte(local>>32), byte(local>>24), byte(local>>16), byte(local>>8), byte(local))
		}
		if ok {
			want = append(want, fmt.Sprintf("%x %v", tuple, o))
		}
	}
	ids := localtest.Vertices(t, tx, 0)
	if d.Type != "" {
		var res shard.Neighbours
		require.NoError(t, tx.Expand(ctx, &shard.Expand{Sources: ids, Types: []graph.TypeID{w.typ}, Edges: true, Props: d.PropIDs}, &res))
		for i := range ids {
			for k := res.Offsets[i]; k < res.Offsets[i+1]; k++ {
				vals := make([]graph.Value, len(d.PropIDs))
				for p := range vals {
					vals[p] = res.Props[p][k]
				}
				add(vals, index.EdgeOwner(graph.Edge{ID: res.Edges[k], Src: ids[i], Dst: res.Targets[k]}))
			}
		}
		ids = nil
	}
	recs := make([]shard.Record, len(ids))
	require.NoError(t, tx.Records(ctx, ids, recs))
	for i, r := range recs {
		if slices.Contains(w.g.Labels(r.Labels), w.label) {
			add(d.Values(r.Props), graph.IndexOwner{Vertex: ids[i]})
		}
	}
	slices.Sort(have)
	slices.Sort(want)
	return have, want
}

// check compares all indexes with what is there.
func (w *indexWorld) check(t *testing.T) {
	t.Helper()
	tx, err := w.g.Begin(context.Background(), shard.Read)
	require.NoError(t, err)
	defer tx.Rollback()
	for _, d := range tx.(*local.Tx).Defs().ByID {
		have, want := w.entries(t, d)
		require.Equal(t, want, have, "index %s", d.Name)
	}
}

// wait waits until all indexes are online.
func (w *indexWorld) wait(t *testing.T) {
	require.Eventually(t, func() bool {
		return !slices.ContainsFunc(w.g.Indexes(), func(ix graph.Index) bool { return !ix.Online })
	}, time.Minute, time.Millisecond)
}

// TestIndexWhileWriting makes indexes while others write: each has exactly the entries that it should have.
func TestIndexWhileWriting(t *testing.T) {
	for seed := range localtest.EachSeed(t, localtest.Seeds(8)) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 3))
			opts := localtest.Options(rng, 1+int(seed)%3)
			opts.FS, opts.Tuning.IndexBatch = vfs.NewMem(), 1+rng.IntN(20)
			w := openIndexWorld(t, opts)
			w.fill(t, rng, 60)
			stop := w.busy(t, seed)
			var wg sync.WaitGroup
			for _, ix := range testIndexes {
				wg.Go(func() {
					if err := w.g.CreateIndex(context.Background(), ix); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			stop()
			w.wait(t)
			w.check(t)
			require.NoError(t, w.store.Close())
		})
	}
}

// TestIndexCrash crashes and closes the store while indexes are being built: they are finished by the next life.
func TestIndexCrash(t *testing.T) {
	for seed := range localtest.EachSeed(t, localtest.Seeds(9)) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 4))
			opts := localtest.Options(rng, 1+int(seed)%3)
			fs := vfs.NewCrashableMem()
			opts.FS, opts.Tuning.IndexBatch = fs, 1+rng.IntN(4)
			w := openIndexWorld(t, opts)
			w.fill(t, rng, 60)
			stop := w.busy(t, seed)
			ctx, cancel := context.WithCancel(context.Background())
			var wg sync.WaitGroup
			for _, ix := range testIndexes {
				wg.Go(func() { _ = w.g.CreateIndex(ctx, ix) })
			}
			part := rng.Float64()
			for {
				all := w.g.Indexes()
				if len(all) == len(testIndexes) && (slices.ContainsFunc(all, func(ix graph.Index) bool { return ix.Online }) || w.g.IndexProgress(all[0].ID) > part) {
					break
				}
			}
			if seed%3 == 0 {
				require.NoError(t, w.g.DropIndex(ctx, "two"))
			}
			crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
			if seed%2 == 0 {
				stop()
				require.NoError(t, w.store.Close())
				wg.Wait()
				cancel()
			} else {
				stop()
				wg.Wait()
				cancel()
				require.NoError(t, w.store.Close())
				opts.FS = crashed
			}
			again := openIndexWorld(t, opts)
			again.next, again.vertices, again.edges = w.next, w.vertices, w.edges
			stop = again.busy(t, seed+100)
			again.wait(t)
			stop()
			again.check(t)
			localtest.CheckClean(t, again.store, "default")
			want := len(testIndexes)
			if seed%3 == 0 {
				want--
			}
			require.Len(t, again.g.Indexes(), want)
			require.NoError(t, again.store.Close())
		})
	}
}

// An index that cannot be built stays, failed, until it is dropped, and does not hold up writers.
func TestIndexFailed(t *testing.T) {
	ctx := context.Background()
	opts := localtest.Options(rand.New(rand.NewPCG(1, 1)), 2)
	opts.FS = vfs.NewMem()
	w := openIndexWorld(t, opts)
	ms := []shard.Mutation{{Op: shard.CreateVertex, Labels: w.set, Props: []graph.Property{{ID: w.k, Value: graph.StringValue(strings.Repeat("x", 9000))}}}}
	tx, err := w.g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	require.NoError(t, tx.Apply(ctx, ms))
	require.NoError(t, tx.Commit(ctx))
	require.ErrorContains(t, w.g.CreateIndex(ctx, graph.Index{Name: "f", Label: "L", Props: []string{"k"}, Indexed: true}), "too large")
	require.Contains(t, w.g.Indexes()[0].Failure, "too large")
	require.False(t, w.g.Indexes()[0].Online)
	tx, err = w.g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	require.NoError(t, tx.Apply(ctx, []shard.Mutation{{Op: shard.CreateVertex, Labels: w.set, Props: ms[0].Props}}))
	require.NoError(t, tx.Commit(ctx))
	require.NoError(t, w.store.Close())
	w = openIndexWorld(t, opts)
	require.Contains(t, w.g.Indexes()[0].Failure, "too large")
	require.NoError(t, w.g.DropIndex(ctx, "f"))
	require.Empty(t, w.g.Indexes())
	require.NoError(t, w.store.Close())
}
