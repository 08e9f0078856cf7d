package read_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/local/localtest"
)

// nearWorld is a graph of documents with vectors around a few centres, and of others that have vectors too but not the label; or, if typ is not
// 0, of edges like that.
type nearWorld struct {
	t       *testing.T
	s       *local.Store
	g       *local.Graph
	rng     *rand.Rand
	hnsw    graph.VectorOptions
	prop    graph.PropID
	doc     graph.LabelID
	typ     graph.TypeID
	docs    graph.LabelSet
	others  graph.LabelSet
	centres [][]float64
}

func newNearWorld(t *testing.T, by graph.Similarity, quantized bool, shards, vertices int) *nearWorld {
	w := &nearWorld{t: t, rng: rand.New(rand.NewPCG(17, uint64(by)))}
	w.hnsw = graph.VectorOptions{Dimensions: 12, Similarity: by, M: 8, EfConstruction: 60, HNSW: true, Quantized: quantized}
	for range 20 {
		c := make([]float64, w.hnsw.Dimensions)
		for i := range c {
			c[i] = w.rng.NormFloat64()
		}
		w.centres = append(w.centres, c)
	}
	opts := local.Options{Dir: "data", FS: vfs.NewMem(), Shards: shards, Tuning: local.Tuning{GraphVectors: 300, PlaceBlock: 64}}
	var err error
	w.s, err = local.Open(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.s.Close()) })
	g, err := w.s.Graph("default")
	require.NoError(t, err)
	w.g = g.(*local.Graph)
	w.write(func(tx shard.Tx) {
		w.prop, err = tx.Prop("v")
		require.NoError(t, err)
		w.doc, err = tx.Label("Doc")
		require.NoError(t, err)
		other, err := tx.Label("Other")
		require.NoError(t, err)
		w.docs, err = tx.LabelSet([]graph.LabelID{w.doc})
		require.NoError(t, err)
		w.others, err = tx.LabelSet([]graph.LabelID{other})
		require.NoError(t, err)
	})
	w.write(func(tx shard.Tx) { w.create(tx, vertices) })
	return w
}

// read begins a transaction that ends with the test, unless it has ended before.
func (w *nearWorld) read() shard.Tx {
	tx, err := w.g.Begin(w.t.Context(), shard.Read)
	require.NoError(w.t, err)
	w.t.Cleanup(tx.Rollback)
	return tx
}

func (w *nearWorld) write(f func(tx shard.Tx)) {
	tx, err := w.g.Begin(w.t.Context(), shard.Write)
	require.NoError(w.t, err)
	f(tx)
	require.NoError(w.t, tx.Commit(w.t.Context()))
}

func (w *nearWorld) vector(rng *rand.Rand) graph.Value {
	list := make([]graph.Value, w.hnsw.Dimensions)
	for i, c := range w.centres[rng.IntN(len(w.centres))] {
		list[i] = graph.FloatValue(c + 0.5*rng.NormFloat64())
	}
	return graph.ListValue(list)
}

// create makes vertices; one in eight has another label.
func (w *nearWorld) create(tx shard.Tx, n int) {
	ms := make([]shard.Mutation, n)
	for i := range ms {
		ms[i] = shard.Mutation{Op: shard.CreateVertex, Labels: w.docs, Props: []graph.Property{{ID: w.prop, Value: w.vector(w.rng)}}}
		if i%8 == 0 {
			ms[i].Labels = w.others
		}
	}
	require.NoError(w.t, tx.Apply(w.t.Context(), ms))
}

// change changes a few vertices in every way: vectors, labels, values that are no vectors, deletions, new ones.
func (w *nearWorld) change(tx shard.Tx, rng *rand.Rand) {
	ctx := w.t.Context()
	all := localtest.Vertices(w.t, tx, 0)
	set := func(v graph.Value) shard.Mutation {
		return shard.Mutation{Op: shard.SetVertex, Vertex: all[rng.IntN(len(all))], Props: []graph.Property{{ID: w.prop, Value: v}}}
	}
	ms := []shard.Mutation{
		set(w.vector(rng)), set(w.vector(rng)), set(graph.IntValue(3)), set(graph.Value{}),
		set(graph.ListValue([]graph.Value{graph.FloatValue(1)})),
		{Op: shard.SetLabels, Vertex: all[rng.IntN(len(all))], Labels: w.docs},
		{Op: shard.SetLabels, Vertex: all[rng.IntN(len(all))], Labels: w.others},
	}
	huge := make([]graph.Value, w.hnsw.Dimensions)
	for i := range huge {
		huge[i] = graph.FloatValue(1e20 * rng.NormFloat64())
	}
	if rng.IntN(3) == 0 {
		ms = append(ms, set(graph.ListValue(huge)))
	}
	require.NoError(w.t, tx.Apply(ctx, ms))
	require.NoError(w.t, tx.Apply(ctx, []shard.Mutation{{Op: shard.DeleteVertex, Vertex: all[rng.IntN(len(all))]}}))
	require.NoError(w.t, tx.Apply(ctx, []shard.Mutation{
		{Op: shard.CreateVertex, Labels: w.docs, Props: []graph.Property{{ID: w.prop, Value: w.vector(rng)}}},
	}))
}

// exact finds the most similar documents by comparing all.
func (w *nearWorld) exact(tx shard.Tx, probe *vector.Probe, k int) []shard.Hit {
	var best shard.Top
	ctx := w.t.Context()
	for from, done := graph.VertexID(0), false; !done; {
		ids := make([]graph.VertexID, 0, 1000)
		var err error
		ids, from, done, err = tx.Scan(ctx, w.search(nil, 0).Label, from, ids)
		require.NoError(w.t, err)
		if w.typ != 0 {
			_, err = tx.CompareEdges(ctx, w.search(probe, k), ids, &best)
			require.NoError(w.t, err)
			continue
		}
		scores := make([]float64, len(ids))
		_, err = tx.Compare(ctx, w.prop, probe, ids, scores)
		require.NoError(w.t, err)
		for i, id := range ids {
			if !math.IsNaN(scores[i]) {
				best.Add(k, shard.Hit{Score: scores[i], ID: uint64(id)})
			}
		}
	}
	best.Sort()
	return best.Hits
}

func (w *nearWorld) probe(rng *rand.Rand) *vector.Probe {
	var p vector.Probe
	require.True(w.t, p.Set(w.hnsw.Similarity, w.vector(rng)))
	return &p
}

// search asks for the k documents, or edges, that are most similar to a probe.
func (w *nearWorld) search(probe *vector.Probe, k int) *shard.Nearest {
	req := &shard.Nearest{Type: w.typ, Prop: w.prop, Probe: probe, K: k, HNSW: &w.hnsw}
	if w.typ == 0 {
		req.Label = w.doc
	}
	return req
}

func (w *nearWorld) nearest(tx shard.Tx, probe *vector.Probe, k int) ([]shard.Hit, shard.NearestFound) {
	var best shard.Top
	found, err := tx.Nearest(w.t.Context(), w.search(probe, k), &best)
	require.NoError(w.t, err)
	best.Sort()
	return best.Hits, found
}

// build has the graphs built, or take in what has changed.
func (w *nearWorld) build() {
	tx := w.read()
	w.nearest(tx, w.probe(w.rng), 1)
	tx.Rollback()
	w.g.WaitGraphs()
}

// recall compares searches of a transaction with exact ones. Each hit must have the score that the transaction's own state gives it, and those
// that changed must not be missed.
func (w *nearWorld) recall(tx shard.Tx, searches int) float64 {
	const k = 10
	found, wanted := 0, 0
	for range searches {
		probe := w.probe(w.rng)
		got, how := w.nearest(tx, probe, k)
		require.True(w.t, how.Done)
		require.Positive(w.t, how.Candidates)
		want := w.exact(tx, probe, k)
		require.Len(w.t, got, len(want))
		ids, edges := make([]graph.VertexID, len(got)), make([]graph.Edge, len(got))
		for i, h := range got {
			ids[i], edges[i] = graph.VertexID(h.ID), h.Edge
		}
		values, scores := make([]graph.Value, len(got)), make([]float64, len(got))
		if w.typ == 0 {
			require.NoError(w.t, tx.Properties(w.t.Context(), ids, []graph.PropID{w.prop}, [][]graph.Value{values}))
		} else {
			require.NoError(w.t, tx.EdgeProperties(w.t.Context(), edges, []graph.PropID{w.prop}, [][]graph.Value{values}))
		}
		shard.CompareLists(probe, values, scores)
		for i, h := range got {
			require.Equal(w.t, math.Float64bits(scores[i]), math.Float64bits(h.Score), "id %d", h.ID)
		}
		for _, h := range want {
			wanted++
			if slices.Contains(got, h) {
				found++
			}
		}
	}
	return float64(found) / float64(wanted)
}

// TestNearestFollows finds what exact searches find in snapshots of before, at and after the state of the graph, and in transactions that have
// written.
func TestNearestFollows(t *testing.T) {
	for i := range 4 {
		by, quantized := graph.Similarity(i/2), i%2 == 1
		if testing.Short() && (by == graph.Cosine) != quantized {
			continue // both measures and both forms of rows are tested by the two others
		}
		t.Run(fmt.Sprintf("%s/quantized=%t", by, quantized), func(t *testing.T) {
			w := newNearWorld(t, by, quantized, 2, 2000)
			w.follow(w.change)
		})
	}
}

// follow searches while changes are made.
func (w *nearWorld) follow(change func(shard.Tx, *rand.Rand)) {
	t, ctx := w.t, w.t.Context()
	tx := w.read()
	_, how := w.nearest(tx, w.probe(w.rng), 10)
	require.False(t, how.Done, "there is no graph yet")
	tx.Rollback()
	w.g.WaitGraphs()
	var old []shard.Tx
	for range localtest.Size(12, 5) {
		for range 3 {
			w.write(func(tx shard.Tx) { change(tx, w.rng) })
		}
		tx := w.read()
		require.GreaterOrEqual(t, w.recall(tx, 4), 0.95)
		old = append(old, tx)
		own, err := w.g.Begin(ctx, shard.Write)
		require.NoError(t, err)
		t.Cleanup(own.Rollback)
		for range 3 {
			change(own, w.rng)
			require.GreaterOrEqual(t, w.recall(own, 2), 0.95)
		}
		own.Rollback()
		w.g.WaitGraphs()
	}
	for _, tx := range old {
		require.GreaterOrEqual(t, w.recall(tx, 4), 0.95)
		tx.Rollback()
	}
}

// TestNearestMany takes in what is loaded at once, and is exact where a search wants too much.
func TestNearestMany(t *testing.T) {
	w := newNearWorld(t, graph.Cosine, true, 1, 1000)
	w.build()
	w.write(func(tx shard.Tx) { w.create(tx, 1500) })
	tx := w.read()
	require.GreaterOrEqual(t, w.recall(tx, 5), 0.95)
	w.g.WaitGraphs()
	_, how := w.nearest(tx, w.probe(w.rng), 10)
	require.Less(t, how.Candidates, 1500, "the graph has taken them in")
	require.GreaterOrEqual(t, w.recall(tx, 20), 0.95)
	_, how = w.nearest(tx, w.probe(w.rng), 2000)
	require.False(t, how.Done)
	var probe vector.Probe
	require.True(t, probe.Set(graph.Cosine, graph.ListValue([]graph.Value{graph.FloatValue(1)})))
	_, how = w.nearest(tx, &probe, 1)
	require.False(t, how.Done, "the probe has another dimension")
	tx.Rollback()
}

// TestNearestConcurrent searches while others write, with graphs that take the changes in, and holds that each search has the
// scores of its own snapshot.
func TestNearestConcurrent(t *testing.T) {
	w := newNearWorld(t, graph.Cosine, true, 2, 1200)
	w.build()
	var writers, readers sync.WaitGroup
	var stop atomic.Bool
	for k := range 2 {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(k), 9))
			for range 40 {
				tx, err := w.g.Begin(context.Background(), shard.Write)
				if err != nil {
					t.Error(err)
					return
				}
				err = tx.Apply(context.Background(), []shard.Mutation{
					{Op: shard.CreateVertex, Labels: w.docs, Props: []graph.Property{{ID: w.prop, Value: w.vector(rng)}}},
					{Op: shard.CreateVertex, Labels: w.docs, Props: []graph.Property{{ID: w.prop, Value: w.vector(rng)}}},
				})
				if err == nil {
					err = tx.Commit(context.Background())
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
		readers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(k), 10))
			for !stop.Load() {
				tx, err := w.g.Begin(context.Background(), shard.Read)
				if err != nil {
					t.Error(err)
					return
				}
				got, how := w.nearest(tx, w.probe(rng), 10)
				if how.Done && len(got) != 10 {
					t.Errorf("%d hits", len(got))
				}
				tx.Rollback()
			}
		})
	}
	writers.Wait()
	stop.Store(true)
	readers.Wait()
	w.g.WaitGraphs()
	tx := w.read()
	require.GreaterOrEqual(t, w.recall(tx, 20), 0.95)
	tx.Rollback()
}

// TestNearestMemory drops the graph when the cache shrinks, searches exactly then, and builds it again once there is room.
func TestNearestMemory(t *testing.T) {
	w := newNearWorld(t, graph.Cosine, false, 1, 1500)
	w.build()
	used := w.s.Shared.Topology().Stats().Used
	require.Greater(t, used, 1200*(4*32+4*16))
	w.s.SetTopologyBytes(64 << 10)
	tx := w.read()
	_, how := w.nearest(tx, w.probe(w.rng), 10)
	require.False(t, how.Done)
	tx.Rollback()
	w.g.WaitGraphs()
	require.Less(t, w.s.Shared.Topology().Stats().Used, 64<<10)
	w.s.SetTopologyBytes(128 << 20)
	for range 30 {
		w.write(func(tx shard.Tx) { w.create(tx, 10) }) // the next attempt comes after some changes
	}
	w.build()
	tx = w.read()
	require.GreaterOrEqual(t, w.recall(tx, 10), 0.95)
	tx.Rollback()
}

// TestNearestQuantized holds the codes of vectors alone in the graph, and ranks some of what it finds by the vectors themselves.
func TestNearestQuantized(t *testing.T) {
	const k = 20
	var used [2]int
	for i, quantized := range []bool{false, true} {
		w := newNearWorld(t, graph.Cosine, quantized, 1, 1500)
		before := w.s.Shared.Topology().Stats().Used
		w.build()
		used[i] = w.s.Shared.Topology().Stats().Used - before
		tx := w.read()
		_, how := w.nearest(tx, w.probe(w.rng), k)
		require.True(t, how.Done)
		require.Greater(t, how.Compared, how.Candidates)
		if quantized {
			require.Equal(t, 4*k, how.Candidates)
		}
		tx.Rollback()
	}
	const rows, stride = 2048, 32 // the memory of 1,312 documents
	require.InDelta(t, rows*(3*stride+8-4), used[0]-used[1], rows*8, "less by three of four bytes a coordinate")
}
