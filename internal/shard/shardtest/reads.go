package shardtest

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/shard"
)

// Row is a vertex or an edge of a graph that a backing is filled with, with its labels or its type.
type Row struct {
	Names          []string
	Source, Target int // of an edge: numbers of rows of vertices
	Props          map[string]graph.Value
}

// Contents are the vertices and edges of a graph. Each has a property Key, an Int of its own.
type Contents struct{ Vertices, Edges []Row }

// Key is the property that tells vertices apart, and edges.
const Key = "key"

// Columns are the other properties and the kinds of all their values.
var Columns = []struct {
	Name string
	Kind graph.ValueKind
}{{"flag", graph.Bool}, {"name", graph.String}, {"number", graph.Int}, {"weight", graph.Float}}

// RunReads fills a backing that only reads with random graphs, and the oracle, one for each seed, and compares what can be read of them.
// missing are the features that the backing does not have, and no other.
func RunReads(t *testing.T, seeds iter.Seq[uint64], open func(t *testing.T, c *Contents) shard.Graph, missing ...shard.Feature) {
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 5))
			c, o := fill(t, rng)
			w := &Model{T: t, Rng: rng, Graph: open(t, c), Oracle: o}
			checkFeatures(t, w.Graph, shard.Read, missing)
			w.match(len(c.Vertices), len(c.Edges))
			for range 5 {
				a, b := w.Begin(shard.Read)
				w.Compare(a, b)
				a.Rollback()
				b.Rollback()
			}
			_, err := w.Graph.Begin(context.Background(), shard.Write)
			require.Error(t, err)
		})
	}
}

// Fill makes a random graph, which the oracle has too.
func Fill(t *testing.T, seed uint64) (*Contents, shard.Graph) {
	return fill(t, rand.New(rand.NewPCG(seed, 5)))
}

func fill(t *testing.T, rng *rand.Rand) (*Contents, shard.Graph) {
	ctx := context.Background()
	c, g := &Contents{}, oracle.NewGraph(1)
	tx, err := g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	props := map[string]graph.PropID{}
	for _, name := range append([]string{Key}, Columns[0].Name, Columns[1].Name, Columns[2].Name, Columns[3].Name) {
		props[name], err = tx.Prop(name)
		require.NoError(t, err)
	}
	row := func(key int, names []string) (r Row, ps []graph.Property) {
		r = Row{Names: names, Props: map[string]graph.Value{Key: graph.IntValue(int64(key))}}
		for _, col := range Columns {
			if rng.IntN(3) > 0 {
				r.Props[col.Name] = typed(rng, col.Kind)
			}
		}
		for name, v := range r.Props {
			ps = append(ps, graph.Property{ID: props[name], Value: v})
		}
		slices.SortFunc(ps, func(a, b graph.Property) int { return int(a.ID) - int(b.ID) })
		return r, ps
	}
	var labels []graph.LabelID
	var types []graph.TypeID
	for i := range 3 {
		l, err := tx.Label("L" + strconv.Itoa(i))
		require.NoError(t, err)
		typ, err := tx.Type("T" + strconv.Itoa(i))
		require.NoError(t, err)
		labels, types = append(labels, l), append(types, typ)
	}
	var ms []shard.Mutation
	for i := range 20 + rng.IntN(200) {
		var names []string
		var ids []graph.LabelID
		for k, l := range labels {
			if rng.IntN(2) == 0 || i == 0 { // the first has all
				names, ids = append(names, "L"+strconv.Itoa(k)), append(ids, l)
			}
		}
		set, err := tx.LabelSet(ids)
		require.NoError(t, err)
		r, ps := row(i, names)
		c.Vertices, ms = append(c.Vertices, r), append(ms, shard.Mutation{Op: shard.CreateVertex, Labels: set, Props: ps})
	}
	require.NoError(t, tx.Apply(ctx, ms))
	vertices := len(c.Vertices)
	var edges []shard.Mutation
	for i := range 3 + rng.IntN(4*vertices) {
		k := rng.IntN(3)
		if i < 3 {
			k = i
		}
		r, ps := row(i, []string{"T" + strconv.Itoa(k)})
		r.Source, r.Target = rng.IntN(vertices), rng.IntN(vertices)
		if rng.IntN(3) == 0 {
			r.Source = rng.IntN(2)
		}
		c.Edges = append(c.Edges, r)
		edges = append(edges, shard.Mutation{
			Op: shard.CreateEdge, Edge: graph.Edge{Src: ms[r.Source].Vertex, Dst: ms[r.Target].Vertex, Type: types[k]}, Props: ps,
		})
	}
	require.NoError(t, tx.Apply(ctx, edges))
	require.NoError(t, tx.Commit(ctx))
	return c, g
}

// typed is a random value of a kind; many are equal to others.
func typed(rng *rand.Rand, kind graph.ValueKind) graph.Value {
	switch kind {
	case graph.Bool:
		return graph.BoolValue(rng.IntN(2) == 0)
	case graph.String:
		return graph.StringValue([]string{"", "a", "b\x00é", "long enough to be no small text"}[rng.IntN(4)])
	case graph.Int:
		return graph.IntValue(int64(rng.IntN(20)))
	}
	return graph.FloatValue([]float64{-1.5, 0, 2, 1e300}[rng.IntN(4)])
}

// match finds the names, and the vertices and edges on both sides by their keys.
func (w *Model) match(vertices, edges int) {
	for i := range 3 {
		l, ok := w.Graph.Label("L" + strconv.Itoa(i))
		lo, oko := w.Oracle.Label("L" + strconv.Itoa(i))
		require.Equal(w.T, []any{lo, oko}, []any{l, ok})
		typ, ok := w.Graph.Type("T" + strconv.Itoa(i))
		to, oko := w.Oracle.Type("T" + strconv.Itoa(i))
		require.Equal(w.T, []any{to, oko}, []any{typ, ok})
		w.Labels, w.Types = append(w.Labels, l), append(w.Types, typ)
	}
	for _, name := range []string{Key, Columns[0].Name, Columns[1].Name, Columns[2].Name, Columns[3].Name} {
		p, ok := w.Graph.Prop(name)
		po, oko := w.Oracle.Prop(name)
		require.Equal(w.T, []any{po, oko}, []any{p, ok})
		w.Props = append(w.Props, p)
	}
	w.Vertices, w.Edges = make([]Pair[graph.VertexID], vertices), make([]Pair[graph.Edge], edges)
	a, b := w.Begin(shard.Read)
	defer func() { a.Rollback(); b.Rollback() }()
	for i, tx := range []shard.Tx{a, b} {
		ctx := context.Background()
		ids, _, done, err := tx.Scan(ctx, 0, 0, make([]graph.VertexID, 0, vertices+1))
		require.NoError(w.T, err)
		require.True(w.T, done)
		require.Len(w.T, ids, vertices)
		keys := shard.Columns(1, vertices)
		require.NoError(w.T, tx.Properties(ctx, ids, w.Props[:1], keys))
		for k, v := range keys[0] {
			*[]*graph.VertexID{&w.Vertices[v.Int()].Here, &w.Vertices[v.Int()].There}[i] = ids[k]
		}
		var res shard.Neighbours
		require.NoError(w.T, tx.Expand(ctx, &shard.Expand{Sources: ids, Edges: true, Props: w.Props[:1]}, &res))
		require.Len(w.T, res.Targets, edges)
		for k, src := range ids {
			for at := res.Offsets[k]; at < res.Offsets[k+1]; at++ {
				no := res.Props[0][at].Int()
				*[]*graph.Edge{&w.Edges[no].Here, &w.Edges[no].There}[i] = graph.Edge{ID: res.Edges[at], Type: res.Types[at], Src: src, Dst: res.Targets[at]}
			}
		}
	}
}
