package local

import (
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// Each kind of change changes the versions of its parts, and no others.
func TestVersions(t *testing.T) {
	ctx := context.Background()
	s, err := Open(Options{Dir: "data", FS: vfs.NewMem(), Logger: quiet()})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	g, err := s.Graph(DefaultGraph)
	require.NoError(t, err)
	w, err := g.Begin(ctx, shard.WriteExclusive)
	require.NoError(t, err)
	a, err := w.Label("A")
	require.NoError(t, err)
	b, err := w.Label("B")
	require.NoError(t, err)
	p, err := w.Prop("p")
	require.NoError(t, err)
	q, err := w.Prop("q")
	require.NoError(t, err)
	e, err := w.Type("E")
	require.NoError(t, err)
	f, err := w.Type("F")
	require.NoError(t, err)
	setA, err := w.LabelSet([]graph.LabelID{a})
	require.NoError(t, err)
	setAB, err := w.LabelSet([]graph.LabelID{a, b})
	require.NoError(t, err)
	require.NoError(t, w.Commit(ctx))

	parts := map[string]*shard.Parts{
		"A": {Labels: []graph.LabelID{a}}, "B": {Labels: []graph.LabelID{b}}, "E": {Types: []graph.TypeID{e}}, "F": {Types: []graph.TypeID{f}},
		"p": {Props: []graph.PropID{p}}, "q": {Props: []graph.PropID{q}}, "none": {},
		"vertices": {Any: shard.AnyVertex}, "labels": {Any: shard.AnyLabel}, "types": {Any: shard.AnyType}, "props": {Any: shard.AnyProp}, "all": {Any: shard.Everything},
	}
	before := map[string]uint64{}
	versions := func() (changed []string) {
		tx, err := g.Begin(ctx, shard.Read)
		require.NoError(t, err)
		defer tx.Rollback()
		for name, p := range parts {
			v, ok, err := tx.Features().Versions.Version(ctx, p)
			require.NoError(t, err)
			require.True(t, ok)
			if v.Commit != before[name] {
				changed = append(changed, name)
			}
			before[name] = v.Commit
		}
		return changed
	}
	versions()
	apply := func(ms ...shard.Mutation) []shard.Mutation {
		w, err := g.Begin(ctx, shard.Write)
		require.NoError(t, err)
		require.NoError(t, w.Apply(ctx, ms))
		require.NoError(t, w.Commit(ctx))
		return ms
	}
	one := []graph.Property{{ID: p, Value: graph.IntValue(1)}}

	x := apply(shard.Mutation{Op: shard.CreateVertex, Labels: setA, Props: one})[0].Vertex
	require.ElementsMatch(t, []string{"A", "vertices", "all"}, versions())
	y := apply(shard.Mutation{Op: shard.CreateVertex, Labels: setAB})[0].Vertex
	require.ElementsMatch(t, []string{"A", "B", "vertices", "all"}, versions())
	edge := apply(shard.Mutation{Op: shard.CreateEdge, Edge: graph.Edge{Src: x, Dst: y, Type: e}, Props: one})[0].Edge
	require.ElementsMatch(t, []string{"E", "types", "all"}, versions())
	apply(shard.Mutation{Op: shard.SetEdge, Edge: edge, Props: one})
	require.ElementsMatch(t, []string{"E", "types", "all"}, versions())
	apply(shard.Mutation{Op: shard.SetVertex, Vertex: y, Props: one})
	require.ElementsMatch(t, []string{"p", "props", "all"}, versions())
	apply(shard.Mutation{Op: shard.SetLabels, Vertex: x, Labels: setAB})
	require.ElementsMatch(t, []string{"B", "labels", "all"}, versions())
	apply(shard.Mutation{Op: shard.DeleteEdge, Edge: edge})
	require.ElementsMatch(t, []string{"E", "types", "all"}, versions())
	apply(shard.Mutation{Op: shard.DeleteVertex, Vertex: y})
	require.Subset(t, versions(), []string{"A", "B", "vertices", "labels", "p", "props", "all"})
	w, err = g.Begin(ctx, shard.Write) // one vertex for another of the same label
	require.NoError(t, err)
	require.NoError(t, w.Apply(ctx, []shard.Mutation{{Op: shard.DeleteVertex, Vertex: x}, {Op: shard.CreateVertex, Labels: setA}}))
	require.NoError(t, w.Commit(ctx))
	require.Subset(t, versions(), []string{"A", "vertices"})

	require.NoError(t, g.CreateIndex(ctx, graph.Index{Name: "space", Unique: true, Indexed: true}))
	ix := g.Indexes()[0].ID
	versions()
	require.NoError(t, g.Load(ctx, &shard.Load{Vertices: []shard.LoadVertices{{Labels: setA, Space: ix, Keys: []graph.Value{graph.IntValue(1)}}}}))
	require.Len(t, versions(), len(parts))

	old, err := g.Begin(ctx, shard.Read)
	require.NoError(t, err)
	defer old.Rollback()
	apply(shard.Mutation{Op: shard.CreateVertex, Labels: setA})
	_, ok, err := old.Features().Versions.Version(ctx, parts["A"])
	require.NoError(t, err)
	require.False(t, ok, "a later commit has changed it")
	_, ok, err = old.Features().Versions.Version(ctx, parts["q"])
	require.NoError(t, err)
	require.True(t, ok)
	own, err := g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	defer own.Rollback()
	_, ok, err = own.Features().Versions.Version(ctx, parts["q"])
	require.NoError(t, err)
	require.False(t, ok, "it may have changed it itself")
}
