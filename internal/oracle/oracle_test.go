package oracle

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

var ctx = context.Background()

func begin(t *testing.T, g *Graph, mode shard.Mode) *Tx {
	t.Helper()
	tx, err := g.Begin(ctx, mode)
	require.NoError(t, err)
	return tx.(*Tx)
}

// write runs mutations in a transaction and returns the ids that they created.
func write(t *testing.T, g *Graph, ms ...shard.Mutation) []shard.Mutation {
	t.Helper()
	tx := begin(t, g, shard.Write)
	require.NoError(t, tx.Apply(ctx, ms))
	require.NoError(t, tx.Commit(ctx))
	return ms
}

func (g *Graph) set(labels ...string) graph.LabelSet {
	var ids []graph.LabelID
	for _, l := range labels {
		ids = append(ids, g.internLabel(l))
	}
	return g.internLabelSet(ids)
}

func (g *Graph) prop(name string, v graph.Value) graph.Property {
	return graph.Property{ID: g.internProp(name), Value: v}
}

func scan(t *testing.T, tx *Tx, label graph.LabelID) []graph.VertexID {
	t.Helper()
	var all []graph.VertexID
	for from, done := graph.VertexID(0), false; !done; {
		var ids []graph.VertexID
		var err error
		ids, from, done, err = tx.Scan(ctx, label, from, make([]graph.VertexID, 0, 2))
		require.NoError(t, err)
		all = append(all, ids...)
	}
	return all
}

func kind(t *testing.T, err error) graph.Kind {
	t.Helper()
	var e *graph.Error
	require.True(t, errors.As(err, &e), "%v", err)
	return e.Kind
}

func TestStoreKeepsGraphsByName(t *testing.T) {
	s := New(2)
	require.NoError(t, s.CreateGraph(ctx, "b"))
	require.NoError(t, s.CreateGraph(ctx, "a"))
	require.Equal(t, graph.KindExists, kind(t, s.CreateGraph(ctx, "a")))
	require.Equal(t, []string{"a", "b"}, s.Graphs())
	require.NoError(t, s.DropGraph(ctx, "a"))
	_, err := s.Graph("a")
	require.Equal(t, graph.KindNotFound, kind(t, err))
	_, err = s.Graph("b")
	require.NoError(t, err)
}

func TestSnapshotsSeeOneCut(t *testing.T) {
	g := NewGraph(3)
	a := g.set("A")
	write(t, g, shard.Mutation{Op: shard.CreateVertex, Labels: a}, shard.Mutation{Op: shard.CreateVertex, Labels: a})
	before := begin(t, g, shard.Read)

	w := begin(t, g, shard.Write)
	ms := []shard.Mutation{{Op: shard.CreateVertex, Labels: a}, {Op: shard.CreateVertex}}
	require.NoError(t, w.Apply(ctx, ms))
	require.Len(t, scan(t, w, 0), 4, "a transaction reads its own writes")
	require.Equal(t, uint64(3), w.Counts().ByLabel["A"])
	require.Len(t, scan(t, begin(t, g, shard.Read), 0), 2)
	require.NoError(t, w.Commit(ctx))
	w.Rollback()

	require.Len(t, scan(t, before, 0), 2)
	label, _ := g.Label("A")
	require.Len(t, scan(t, begin(t, g, shard.Read), label), 3)

	w = begin(t, g, shard.Write)
	require.NoError(t, w.Apply(ctx, []shard.Mutation{{Op: shard.DeleteVertex, Vertex: ms[0].Vertex}}))
	w.Rollback()
	require.Len(t, scan(t, begin(t, g, shard.Read), 0), 4)
	require.Error(t, w.Apply(ctx, nil))
}

func TestOneWriterAtATime(t *testing.T) {
	g := NewGraph(1)
	w := begin(t, g, shard.Write)
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	_, err := g.Begin(short, shard.Write)
	require.Equal(t, graph.KindDeadline, kind(t, err))
	w.Rollback()
	begin(t, g, shard.Write).Rollback()
}

func TestExpandOrderAndLoops(t *testing.T) {
	g := NewGraph(2)
	vs := write(t, g, shard.Mutation{}, shard.Mutation{}, shard.Mutation{})
	id := func(i int) graph.VertexID { return vs[i].Vertex }
	x, y := g.internType("X"), g.internType("Y")
	edge := func(a, b int, typ graph.TypeID) shard.Mutation {
		return shard.Mutation{Op: shard.CreateEdge, Edge: graph.Edge{Src: id(a), Dst: id(b), Type: typ}}
	}
	write(t, g, edge(0, 2, y), edge(0, 2, x), edge(0, 0, x), edge(1, 0, x), edge(0, 2, x))
	tx := begin(t, g, shard.Read)
	src := []graph.VertexID{id(0), id(2), id(1)} // ascending: two shards take turns

	var n shard.Neighbours
	require.NoError(t, tx.Expand(ctx, &shard.Expand{Sources: src, Dir: graph.Both, Edges: true}, &n))
	require.Equal(t, []int{0, 5, 8, 9}, n.Offsets)
	require.Equal(t, []graph.VertexID{id(0), id(2), id(2), id(1), id(2)}, n.Targets[:5])
	require.Equal(t, []graph.TypeID{x, x, x, x, y}, n.Types[:5])
	require.Equal(t, []bool{false, false, false, true, false}, n.Reverse[:5])

	require.NoError(t, tx.Expand(ctx, &shard.Expand{Sources: src, Dir: graph.Both, MaxEdges: 6}, &n))
	require.Equal(t, 2, n.Done)
	require.Empty(t, n.Edges)

	degrees := make([]int, 3)
	require.NoError(t, tx.Degrees(ctx, src, []graph.TypeID{x}, graph.In, degrees))
	require.Equal(t, []int{2, 2, 0}, degrees)

	require.Error(t, tx.Expand(ctx, &shard.Expand{Sources: []graph.VertexID{id(1), id(0)}}, &n))

	var from, to graph.VertexSet
	from.Add(id(0))
	require.NoError(t, tx.Step(ctx, &from, []graph.TypeID{x}, graph.Out, &to))
	require.Equal(t, []graph.VertexID{id(0), id(2)}, to.AppendTo(nil))

	c := tx.Counts()
	require.Equal(t, map[string]uint64{"X": 4, "Y": 1}, c.ByType)
	require.Equal(t, uint64(4), c.Ends[graph.TypeEnds{Type: "X"}])
}

func TestDeleteOfAConnectedVertexFailsAtCommit(t *testing.T) {
	g := NewGraph(1)
	vs := write(t, g, shard.Mutation{}, shard.Mutation{})
	e := write(t, g, shard.Mutation{Op: shard.CreateEdge, Edge: graph.Edge{
		Src: vs[0].Vertex, Dst: vs[1].Vertex, Type: g.internType("T"),
	}})[0].Edge
	del := []shard.Mutation{{Op: shard.DeleteVertex, Vertex: vs[0].Vertex}}

	w := begin(t, g, shard.Write)
	require.NoError(t, w.Apply(ctx, del))
	var err *graph.Error
	require.ErrorAs(t, w.Commit(ctx), &err)
	require.Equal(t, "DeleteConnectedNode", err.Detail)

	write(t, g, del[0], shard.Mutation{Op: shard.DeleteEdge, Edge: e}, shard.Mutation{Op: shard.DeleteEdge, Edge: e})
	r := begin(t, g, shard.Read)
	require.Len(t, scan(t, r, 0), 1)
	rec := []shard.Record{{Labels: 7}}
	require.NoError(t, r.EdgeRecords(ctx, []graph.Edge{e}, rec))
	require.Zero(t, rec[0].Labels)
}

func TestIndexesAndConstraints(t *testing.T) {
	g := NewGraph(3)
	p := g.set("P")
	vertex := func(v graph.Value) shard.Mutation {
		return shard.Mutation{Op: shard.CreateVertex, Labels: p, Props: []graph.Property{g.prop("k", v)}}
	}
	ms := write(t, g, vertex(graph.IntValue(1)), vertex(graph.FloatValue(2)), vertex(graph.StringValue("ab")),
		vertex(graph.StringValue("abc")), vertex(graph.IntValue(-5)), vertex(graph.FloatValue(1.5)))
	require.NoError(t, g.CreateIndex(ctx, graph.Index{Name: "pk", Label: "P", Props: []string{"k"}, Unique: true, Indexed: true}))
	require.Equal(t, graph.KindExists, kind(t, g.CreateIndex(ctx, graph.Index{Name: "o", Label: "P", Props: []string{"k"}, Indexed: true})))
	ix := g.Indexes()[0]
	require.True(t, ix.Online)

	r := begin(t, g, shard.Read)
	var f shard.Found
	require.NoError(t, r.Seek(ctx, &shard.Seek{Index: ix.ID, Keys: []graph.Value{graph.FloatValue(1), {}, graph.IntValue(2)}}, &f))
	require.Equal(t, []int{0, 1, 1, 2}, f.Offsets)
	require.Equal(t, []graph.VertexID{ms[0].Vertex, ms[1].Vertex}, f.IDs)

	ranged := func(rg shard.Range) []graph.VertexID {
		var all []graph.VertexID
		var cursor []byte
		for {
			ids, err := r.SeekRange(ctx, ix.ID, rg, &cursor, make([]graph.VertexID, 0, 1))
			require.NoError(t, err)
			all = append(all, ids...)
			if cursor == nil {
				return all
			}
		}
	}
	require.Equal(t, []graph.VertexID{ms[0].Vertex, ms[5].Vertex},
		ranged(shard.Range{Lo: graph.IntValue(-5), LoOpen: true, Hi: graph.IntValue(2), HiOpen: true}))
	require.Equal(t, []graph.VertexID{ms[2].Vertex, ms[3].Vertex}, ranged(shard.Range{Lo: graph.StringValue("ab"), Prefix: true}))
	require.Len(t, ranged(shard.Range{Hi: graph.IntValue(9)}), 4)

	w := begin(t, g, shard.Write)
	require.NoError(t, w.Apply(ctx, []shard.Mutation{vertex(graph.IntValue(2))}))
	require.Equal(t, graph.KindExists, kind(t, w.Commit(ctx)))

	// Two values may change places within one transaction.
	write(t, g,
		shard.Mutation{Op: shard.SetVertex, Vertex: ms[0].Vertex, Props: []graph.Property{g.prop("k", graph.IntValue(2))}},
		shard.Mutation{Op: shard.SetVertex, Vertex: ms[1].Vertex, Props: []graph.Property{g.prop("k", graph.IntValue(1))}})

	require.NoError(t, g.CreateIndex(ctx, graph.Index{Name: "need", Label: "P", Props: []string{"k"}, Required: true}))
	w = begin(t, g, shard.Write)
	require.NoError(t, w.Apply(ctx, []shard.Mutation{{
		Op: shard.SetVertex, Vertex: ms[0].Vertex, Props: []graph.Property{g.prop("k", graph.Value{})},
	}}))
	require.Equal(t, graph.KindExists, kind(t, w.Commit(ctx)))
	require.Error(t, g.CreateIndex(ctx, graph.Index{Name: "never", Label: "P", Props: []string{"x"}, Required: true}))
	require.NoError(t, g.DropIndex(ctx, "need"))
	require.Equal(t, graph.KindNotFound, kind(t, g.DropIndex(ctx, "need")))
}

func TestLoadAppliesABatchOnce(t *testing.T) {
	g := NewGraph(2)
	require.NoError(t, g.CreateIndex(ctx, graph.Index{Name: "person", Label: "P", Props: []string{"id"}, Unique: true, Indexed: true}))
	require.NoError(t, g.CreateIndex(ctx, graph.Index{Name: "bare", Unique: true}))
	person, bare := g.Indexes()[0].ID, g.Indexes()[1].ID
	ints := func(ns ...int64) (vs []graph.Value) {
		for _, n := range ns {
			vs = append(vs, graph.IntValue(n))
		}
		return vs
	}
	l := shard.Load{
		Stream: "s", Seq: 1, Mark: []byte("m"),
		Vertices: []shard.LoadVertices{
			{Labels: g.set("P", "Q"), Space: person, Keys: ints(1, 2, 2), Props: []shard.LoadColumn{
				{Prop: g.internProp("id"), Values: ints(1, 2, 2)},
				{Prop: g.internProp("n"), Values: ints(10, 20, 22), Strategy: shard.Sum},
			}},
			{Labels: g.set("B"), Space: bare, Keys: ints(1), Action: shard.Insert},
			{Space: bare, Keys: ints(1, 7), Action: shard.Insert},
			{Space: bare, Keys: ints(8), Action: shard.Update},
		},
		Edges: []shard.LoadEdges{
			{Type: g.internType("T"), SrcSpace: person, DstSpace: bare, Src: ints(1, 1, 9), Dst: ints(1, 1, 1), Action: shard.Insert},
			{Type: g.internType("U"), SrcSpace: person, DstSpace: person, Src: ints(1, 1), Dst: ints(3, 3), Dangling: shard.DanglingCreate},
		},
	}
	require.NoError(t, g.Load(ctx, &l))
	require.Equal(t, []string{"DuplicateKey", "MissingVertex", "DanglingEdge"},
		[]string{l.Rejected[0].Code, l.Rejected[1].Code, l.Rejected[2].Code})
	require.Equal(t, shard.RowCounts{Created: 3, Unchanged: 1}, l.Counts.Edges)
	c := begin(t, g, shard.Read).Counts()
	require.Equal(t, uint64(5), c.Vertices)
	require.Equal(t, map[string]uint64{"P": 3, "Q": 2, "B": 1}, c.ByLabel)
	require.Equal(t, map[string]uint64{"T": 2, "U": 1}, c.ByType)

	var f shard.Found
	r := begin(t, g, shard.Read)
	require.NoError(t, r.Seek(ctx, &shard.Seek{Index: person, Keys: ints(2, 3)}, &f))
	rec := make([]shard.Record, 2)
	require.NoError(t, r.Records(ctx, f.IDs, rec))
	require.Equal(t, int64(42), property(rec[0].Props, g.internProp("n")).Int())
	require.Len(t, rec[1].Props, 1)

	rejected, done := slices.Clone(l.Rejected), l.Counts
	require.NoError(t, g.Load(ctx, &l))
	require.True(t, l.Skipped)
	require.Equal(t, rejected, l.Rejected)
	require.Equal(t, done, l.Counts)
	seq, mark, err := g.LoadState(ctx, "s")
	require.NoError(t, err)
	require.Equal(t, uint64(1), seq)
	require.Equal(t, byte('m'), mark[0])
	counts, refused, err := shard.ReadOutcome(mark[1:])
	require.NoError(t, err)
	require.Equal(t, rejected, refused)
	require.Equal(t, done, counts)
	require.Equal(t, uint64(3), begin(t, g, shard.Read).Counts().Edges)
}
