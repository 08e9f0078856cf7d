package local

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/localtest"
)

const (
	vectorChild   = "HOPGATE_TEST_VECTORS"
	killedVectors = 600 // enough for some blocks of packed vectors
	killedWidth   = 40
)

// vectorWorld is a store whose vertices have the vector of the last commit that changed them, and so has the edge from each to itself: see
// killedVector.
type vectorWorld struct {
	t    *testing.T
	s    *Store
	g    shard.Graph
	prop graph.PropID
	doc  graph.LabelID
	typ  graph.TypeID
	ids  []graph.VertexID
	// edges are beside ids.
	edges []graph.Edge

	graphs [2]int // searches that graphs have answered, of vertices and of edges
}

// killedVector is the vector of vertex v after commit n.
func killedVector(v, n int) graph.Value {
	r := rand.New(rand.NewPCG(uint64(v), uint64(n)))
	list := make([]graph.Value, killedWidth)
	for i := range list {
		list[i] = graph.FloatValue(r.NormFloat64())
	}
	return graph.ListValue(list)
}

func coordinates(v graph.Value) []float64 {
	out := make([]float64, len(v.List()))
	for i, x := range v.List() {
		out[i] = x.Float()
	}
	return out
}

func openVectorWorld(t *testing.T, dir string) *vectorWorld {
	w := &vectorWorld{t: t}
	var err error
	w.s, err = Open(Options{Dir: dir, Shards: 2, Tuning: Tuning{GraphVectors: 100, PlaceBlock: 64}})
	require.NoError(t, err)
	w.g, err = w.s.Graph("default")
	require.NoError(t, err)
	ctx := context.Background()
	tx, err := w.g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	w.prop, err = tx.Prop("v")
	require.NoError(t, err)
	number, err := tx.Prop("n")
	require.NoError(t, err)
	label, err := tx.Label("Doc")
	require.NoError(t, err)
	w.typ, err = tx.Type("SAYS")
	require.NoError(t, err)
	if tx.Counts().Vertices == 0 {
		set, err := tx.LabelSet([]graph.LabelID{label})
		require.NoError(t, err)
		ms := make([]shard.Mutation, killedVectors)
		for v := range ms {
			ms[v] = shard.Mutation{Op: shard.CreateVertex, Labels: set, Props: []graph.Property{
				{ID: w.prop, Value: killedVector(v, 0)}, {ID: number, Value: graph.IntValue(int64(v))},
			}}
		}
		require.NoError(t, tx.Apply(ctx, ms))
		edges := make([]shard.Mutation, killedVectors)
		for v := range edges {
			edges[v] = shard.Mutation{Op: shard.CreateEdge, Edge: graph.Edge{Type: w.typ, Src: ms[v].Vertex, Dst: ms[v].Vertex}, Props: ms[v].Props[:1]}
		}
		require.NoError(t, tx.Apply(ctx, edges))
	}
	require.NoError(t, tx.Commit(ctx))
	w.doc = label
	tx, err = w.g.Begin(ctx, shard.Read)
	require.NoError(t, err)
	defer tx.Rollback()
	w.ids = append(w.ids, localtest.Vertices(t, tx, label)...)
	require.Len(t, w.ids, killedVectors)
	numbers := make([]graph.Value, killedVectors)
	require.NoError(t, tx.Properties(ctx, w.ids, []graph.PropID{number}, [][]graph.Value{numbers}))
	ids := slices.Clone(w.ids)
	for i, n := range numbers {
		w.ids[n.Int()] = ids[i]
	}
	for _, id := range w.ids {
		var res shard.Neighbours
		require.NoError(t, tx.Expand(ctx, &shard.Expand{Sources: []graph.VertexID{id}, Types: []graph.TypeID{w.typ}, Dir: graph.Out, Edges: true}, &res))
		require.Equal(t, []graph.VertexID{id}, res.Targets)
		w.edges = append(w.edges, graph.Edge{ID: res.Edges[0], Type: w.typ, Src: id, Dst: id})
	}
	return w
}

// changed is the vertex that commit n changes, beside the first one, which holds n as its first coordinate.
func changed(n int) int { return 1 + n*7%(killedVectors-1) }

// write commits changes until it is killed, searching between them so that the columns are packed, changed and packed again.
func (w *vectorWorld) write(after int) {
	ctx := context.Background()
	for n := after + 1; ; n++ {
		tx, err := w.g.Begin(ctx, shard.Write)
		require.NoError(w.t, err)
		counter := killedVector(0, n)
		counter.List()[0] = graph.FloatValue(float64(n))
		for at, v := range map[int]graph.Value{0: counter, changed(n): killedVector(changed(n), n)} {
			props := []graph.Property{{ID: w.prop, Value: v}}
			require.NoError(w.t, tx.Apply(ctx, []shard.Mutation{
				{Op: shard.SetVertex, Vertex: w.ids[at], Props: props}, {Op: shard.SetEdge, Edge: w.edges[at], Props: props},
			}))
		}
		require.NoError(w.t, tx.Commit(ctx))
		fmt.Println("committed", n)
		if n%8 == 0 {
			w.compare()
		}
	}
}

// compare compares all vectors with one, where they are packed and one after the other, and returns the last commit.
func (w *vectorWorld) compare() int {
	ctx := context.Background()
	tx, err := w.g.Begin(ctx, shard.Read)
	require.NoError(w.t, err)
	defer tx.Rollback()
	var probe vector.Probe
	require.True(w.t, probe.Set(graph.Cosine, killedVector(-1, 0)))
	packed, plain := make([]float64, len(w.ids)), make([]float64, len(w.ids))
	for range 3 { // the first search asks for the packed form, the next ones use it
		_, err = tx.Compare(ctx, w.prop, &probe, w.ids, packed)
		require.NoError(w.t, err)
	}
	w.search(tx, &probe, packed, 0)
	w.search(tx, &probe, packed, w.typ)
	values, ofEdges := make([]graph.Value, len(w.ids)), make([]graph.Value, len(w.ids))
	require.NoError(w.t, tx.EdgeProperties(ctx, w.edges, []graph.PropID{w.prop}, [][]graph.Value{ofEdges}))
	require.NoError(w.t, tx.Properties(ctx, w.ids, []graph.PropID{w.prop}, [][]graph.Value{values}))
	shard.CompareLists(&probe, values, plain)
	require.Equal(w.t, plain, packed)
	shard.CompareLists(&probe, ofEdges, plain)
	require.Equal(w.t, plain, packed)
	last := int(values[0].List()[0].Float())
	if slices.Equal(coordinates(values[0]), coordinates(killedVector(0, 0))) {
		last = 0 // no commit has changed it
	}
	for v := 1; v < len(values); v++ {
		n := last
		for n > 0 && changed(n) != v {
			n--
		}
		require.False(w.t, math.IsNaN(packed[v]))
		require.Equal(w.t, coordinates(killedVector(v, n)), coordinates(values[v]), "vertex %d after commit %d", v, last)
	}
	return last
}

// search finds the vertices, or the edges of a type, that are most similar by the scores of a scan, by a graph if there is one.
func (w *vectorWorld) search(tx shard.Tx, probe *vector.Probe, scores []float64, t graph.TypeID) {
	const k = 10
	var want, best shard.Top
	for i, id := range w.ids {
		h := shard.Hit{Score: scores[i], ID: uint64(id)}
		if t != 0 {
			h.ID, h.Edge = uint64(w.edges[i].ID), w.edges[i]
		}
		want.Add(k, h)
	}
	o := graph.VectorOptions{Dimensions: killedWidth, M: 16, EfConstruction: 100, HNSW: true}
	req := &shard.Nearest{Type: t, Prop: w.prop, Probe: probe, K: k, HNSW: &o}
	if t == 0 {
		req.Label = w.doc
	}
	found, err := tx.Nearest(context.Background(), req, &best)
	require.NoError(w.t, err)
	if !found.Done {
		return // it is being built
	}
	w.graphs[min(t, 1)]++
	missed := 0
	for _, h := range want.Hits {
		if !slices.Contains(best.Hits, h) {
			missed++
		}
	}
	require.LessOrEqual(w.t, missed, 2, "of %d", k)
}

// TestVectorsKilled kills a process that changes vectors, and finds those of its last commit in every search after.
func TestVectorsKilled(t *testing.T) {
	if dir := os.Getenv(vectorChild); dir != "" {
		w := openVectorWorld(t, dir)
		w.write(w.compare())
		return
	}
	dir := t.TempDir()
	for round := range size(3, 2) {
		child := exec.Command(os.Args[0], "-test.run=^TestVectorsKilled$", "-test.v")
		child.Env = append(os.Environ(), vectorChild+"="+dir)
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		acked, seen := 0, 0
		for lines := bufio.NewScanner(out); seen < 40+17*round && lines.Scan(); {
			if text, ok := strings.CutPrefix(lines.Text(), "committed "); ok {
				acked, err = strconv.Atoi(text)
				require.NoError(t, err)
				seen++
			}
		}
		require.NoError(t, child.Process.Kill())
		require.Error(t, child.Wait())
		require.Positive(t, acked)
		w := openVectorWorld(t, dir)
		require.GreaterOrEqual(t, w.compare(), acked)
		for w.graphs[0] == 0 || w.graphs[1] == 0 { // the first search has them built
			w.g.(*Graph).WaitGraphs()
			w.compare()
		}
		require.NoError(t, w.s.Close())
	}
}
