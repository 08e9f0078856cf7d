package read_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/localtest"
)

// edgeWorld is a nearWorld of edges.
type edgeWorld struct {
	*nearWorld
	other graph.TypeID // of edges that no search finds
}

func newEdgeWorld(t *testing.T, by graph.Similarity, quantized bool, shards, vertices, edges int) *edgeWorld {
	w := &edgeWorld{nearWorld: newNearWorld(t, by, quantized, shards, vertices)}
	w.write(func(tx shard.Tx) {
		var err error
		w.typ, err = tx.Type("TIE")
		require.NoError(t, err)
		w.other, err = tx.Type("OTHER")
		require.NoError(t, err)
		all := localtest.Vertices(w.t, tx, 0)
		ms := make([]shard.Mutation, edges)
		for i := range ms {
			ms[i] = w.tie(all, w.rng)
			if i%8 == 0 {
				ms[i].Edge.Type = w.other
			}
		}
		require.NoError(t, tx.Apply(t.Context(), ms))
	})
	return w
}

// tie makes an edge. A third of them leave the first vertex.
func (w *edgeWorld) tie(all []graph.VertexID, rng *rand.Rand) shard.Mutation {
	e := graph.Edge{Type: w.typ, Src: all[rng.IntN(len(all))], Dst: all[rng.IntN(len(all))]}
	if rng.IntN(3) == 0 {
		e.Src = all[0]
	}
	return shard.Mutation{Op: shard.CreateEdge, Edge: e, Props: []graph.Property{{ID: w.prop, Value: w.vector(rng)}}}
}

// edges are the edges of a type that leave or reach a vertex.
func (w *edgeWorld) edges(tx shard.Tx, v graph.VertexID, t graph.TypeID, dir graph.Direction) []graph.Edge {
	var res shard.Neighbours
	require.NoError(w.t, tx.Expand(w.t.Context(), &shard.Expand{Sources: []graph.VertexID{v}, Types: []graph.TypeID{t}, Dir: dir, Edges: true}, &res))
	out := make([]graph.Edge, len(res.Targets))
	for i, far := range res.Targets {
		out[i] = graph.Edge{ID: res.Edges[i], Type: t, Src: v, Dst: far}
		if dir == graph.In {
			out[i].Src, out[i].Dst = far, v
		}
	}
	return out
}

// change changes a few edges in every way: vectors, values that are none, deletions, also with a vertex, and new ones.
func (w *edgeWorld) change(tx shard.Tx, rng *rand.Rand) {
	ctx, all := w.t.Context(), localtest.Vertices(w.t, tx, 0)
	some := func() graph.Edge {
		for {
			if edges := w.edges(tx, all[rng.IntN(len(all))%(1+rng.IntN(len(all)))], w.typ, graph.Out); len(edges) > 0 {
				return edges[rng.IntN(len(edges))]
			}
		}
	}
	set := func(v graph.Value) {
		require.NoError(w.t, tx.Apply(ctx, []shard.Mutation{{Op: shard.SetEdge, Edge: some(), Props: []graph.Property{{ID: w.prop, Value: v}}}}))
	}
	set(w.vector(rng))
	set(w.vector(rng))
	set(graph.IntValue(3))
	set(graph.Value{})
	set(graph.ListValue([]graph.Value{graph.FloatValue(1)}))
	if rng.IntN(3) == 0 {
		huge := make([]graph.Value, w.hnsw.Dimensions)
		for i := range huge {
			huge[i] = graph.FloatValue(1e20 * rng.NormFloat64())
		}
		set(graph.ListValue(huge))
	}
	require.NoError(w.t, tx.Apply(ctx, []shard.Mutation{{Op: shard.DeleteEdge, Edge: some()}, w.tie(all, rng), w.tie(all, rng)}))
	gone := all[1+rng.IntN(len(all)-1)]
	ms := []shard.Mutation{{Op: shard.DeleteVertex, Vertex: gone}}
	for _, t := range []graph.TypeID{w.typ, w.other} {
		for _, e := range append(w.edges(tx, gone, t, graph.Out), w.edges(tx, gone, t, graph.In)...) {
			ms = append(ms, shard.Mutation{Op: shard.DeleteEdge, Edge: e})
		}
	}
	require.NoError(w.t, tx.Apply(ctx, ms))
}

// TestNearestEdgesFollow is TestNearestFollows for edges, a third of which leave one vertex.
func TestNearestEdgesFollow(t *testing.T) {
	for i := range 4 {
		by, quantized := graph.Similarity(i/2), i%2 == 1
		if testing.Short() && (by == graph.Cosine) != quantized {
			continue // both measures and both forms of rows are tested by the two others
		}
		t.Run(fmt.Sprintf("%s/quantized=%t", by, quantized), func(t *testing.T) {
			w := newEdgeWorld(t, by, quantized, 2, 500, 2500)
			w.follow(w.change)
		})
	}
}

// TestNearestEdgesFew compares all edges of a shard that has too few for a graph, beside the graph of another one.
func TestNearestEdgesFew(t *testing.T) {
	w := newEdgeWorld(t, graph.Cosine, true, 2, 200, 0)
	w.write(func(tx shard.Tx) {
		var ms []shard.Mutation
		for _, v := range localtest.Vertices(w.t, tx, 0) {
			n := 10
			if v.Shard() == 1 {
				n = 1
			}
			for range n {
				m := w.tie([]graph.VertexID{v}, w.rng)
				ms = append(ms, m)
			}
		}
		require.NoError(t, tx.Apply(t.Context(), ms))
	})
	w.build()
	tx := w.read()
	require.GreaterOrEqual(t, w.recall(tx, 10), 0.95)
	tx.Rollback()
}

// TestNearestEdgesMany takes in edges that are created at once, also if they leave one vertex.
func TestNearestEdgesMany(t *testing.T) {
	w := newEdgeWorld(t, graph.Cosine, false, 1, 200, 1000)
	w.build()
	for _, from := range []int{200, 1} {
		w.write(func(tx shard.Tx) {
			all := localtest.Vertices(w.t, tx, 0)[:from]
			ms := make([]shard.Mutation, 1500)
			for i := range ms {
				ms[i] = w.tie(all, w.rng)
			}
			require.NoError(t, tx.Apply(t.Context(), ms))
		})
		w.build()
		tx := w.read()
		_, how := w.nearest(tx, w.probe(w.rng), 10)
		require.Less(t, how.Candidates, 500, "the graph has taken them in")
		require.GreaterOrEqual(t, w.recall(tx, 20), 0.95)
		_, how = w.nearest(tx, w.probe(w.rng), 1500)
		require.False(t, how.Done, "the search asks for too many")
		tx.Rollback()
	}
}

// TestNearestEdgesConcurrent searches while others write and delete, with graphs that take the changes in.
func TestNearestEdgesConcurrent(t *testing.T) {
	w := newEdgeWorld(t, graph.Cosine, true, 2, 100, 1500)
	w.build()
	tx := w.read()
	all := localtest.Vertices(w.t, tx, 0)
	doomed := w.edges(tx, all[0], w.typ, graph.Out)
	tx.Rollback()
	var writers, readers sync.WaitGroup
	var stop atomic.Bool
	ctx := context.Background()
	for k := range 2 {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(k), 9))
			for i := range 40 {
				tx, err := w.g.Begin(ctx, shard.Write)
				if err != nil {
					t.Error(err)
					return
				}
				err = tx.Apply(ctx, []shard.Mutation{w.tie(all, rng), w.tie(all[1:], rng), {Op: shard.DeleteEdge, Edge: doomed[2*i+k]}})
				if err == nil {
					err = tx.Commit(ctx)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
		readers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(k), 10))
			for !stop.Load() {
				tx, err := w.g.Begin(ctx, shard.Read)
				if err != nil {
					t.Error(err)
					return
				}
				got, how := w.nearest(tx, w.probe(rng), 10)
				if how.Done && len(got) != 10 {
					t.Errorf("%d hits", len(got))
				}
				for _, h := range got {
					value := [][]graph.Value{{{}}}
					if err := tx.EdgeProperties(ctx, []graph.Edge{h.Edge}, []graph.PropID{w.prop}, value); err != nil || value[0][0].IsNull() {
						t.Errorf("edge %d is not in the snapshot: %v", h.ID, err)
					}
				}
				tx.Rollback()
			}
		})
	}
	writers.Wait()
	stop.Store(true)
	readers.Wait()
	w.g.WaitGraphs()
	tx = w.read()
	require.GreaterOrEqual(t, w.recall(tx, 20), 0.95)
	tx.Rollback()
}
