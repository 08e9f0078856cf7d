package remote_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
	"github.com/hopgate/hopgate/internal/shard"
)

// TestCompare compares vectors in one process and through a gateway: those of candidates, and the most similar of all, before the transaction writes and after.
func TestCompare(t *testing.T) {
	whole, spread := open(t, 3)
	for name, s := range map[string]shard.Store{"one process": whole, "a gateway": spread} {
		t.Run(name, func(t *testing.T) { testCompare(t, s) })
	}
}

func testCompare(t *testing.T, spread shard.Store) {
	require.NoError(t, spread.CreateGraph(t.Context(), "vectors"))
	g, err := spread.Graph("vectors")
	require.NoError(t, err)
	tx, err := g.Begin(t.Context(), shard.Write)
	require.NoError(t, err)
	prop, err := tx.Prop("v")
	require.NoError(t, err)
	label, err := tx.Label("Doc")
	require.NoError(t, err)
	set, err := tx.LabelSet([]graph.LabelID{label})
	require.NoError(t, err)
	number := func(i int) graph.Value { return graph.FloatValue(float64(i)) }
	doc := func(i int) shard.Mutation {
		m := shard.Mutation{Op: shard.CreateVertex, Labels: set}
		if i%7 > 0 {
			m.Props = []graph.Property{{ID: prop, Value: graph.ListValue([]graph.Value{number(i), number(i % 5), number(1)})}}
		}
		return m
	}
	var ms []shard.Mutation
	for i := range 500 {
		ms = append(ms, doc(i))
	}
	require.NoError(t, tx.Apply(t.Context(), ms))
	require.NoError(t, tx.Commit(t.Context()))

	var probe vector.Probe
	require.True(t, probe.Set(graph.Euclidean, graph.ListValue([]graph.Value{number(250), number(2), number(1)})))
	tx, err = g.Begin(t.Context(), shard.Write)
	require.NoError(t, err)
	defer tx.Rollback()
	for range 2 {
		ids := []graph.VertexID{graph.MakeVertexID(9, 1)} // of no shard
		scores, want := make([]float64, len(ms)+1), shard.Top{}
		for i := range ms {
			ids = append(ids, ms[i].Vertex)
		}
		bytes, err := tx.Compare(t.Context(), prop, &probe, ids, scores)
		require.NoError(t, err)
		require.Positive(t, bytes)
		require.True(t, math.IsNaN(scores[0]))
		for i := range ms {
			if len(ms[i].Props) == 0 {
				require.True(t, math.IsNaN(scores[i+1]))
				continue
			}
			score, ok := probe.Score(ms[i].Props[0].Value)
			require.True(t, ok)
			require.Equal(t, score, scores[i+1])
			want.Add(10, shard.Hit{Score: score, ID: uint64(ids[i+1])})
		}
		want.Sort()
		var best shard.Top
		if tx.Features().Wire == nil {
			continue // a search of all is the caller's
		}
		found, err := tx.Nearest(t.Context(), &shard.Nearest{Label: label, Prop: prop, Probe: &probe, K: 10}, &best)
		require.NoError(t, err)
		if !found.Done {
			continue // the process has all shards
		}
		require.Equal(t, len(ms), found.Compared)
		best.Sort()
		require.Equal(t, want, best)
		more := []shard.Mutation{doc(249), doc(251)}
		require.NoError(t, tx.Apply(t.Context(), more))
		ms = append(ms, more...)
	}
}

// TestCompareEdges finds the edges with the most similar vectors through a gateway, which asks every shard, before the transaction writes and
// after, and packed or not.
func TestCompareEdges(t *testing.T) {
	_, s := open(t, 3)
	require.NoError(t, s.CreateGraph(t.Context(), "edges"))
	g, err := s.Graph("edges")
	require.NoError(t, err)
	tx, err := g.Begin(t.Context(), shard.Write)
	require.NoError(t, err)
	prop, err := tx.Prop("v")
	require.NoError(t, err)
	typ, err := tx.Type("TIE")
	require.NoError(t, err)
	other, err := tx.Type("OTHER")
	require.NoError(t, err)
	ms := make([]shard.Mutation, 300)
	for i := range ms {
		ms[i].Op = shard.CreateVertex
	}
	require.NoError(t, tx.Apply(t.Context(), ms))
	number := func(i int) graph.Value { return graph.FloatValue(float64(i)) }
	var ties []shard.Mutation
	tie := func(i int) shard.Mutation {
		m := shard.Mutation{Op: shard.CreateEdge, Edge: graph.Edge{Type: typ, Src: ms[i*7%len(ms)].Vertex, Dst: ms[i*11%len(ms)].Vertex}}
		if i%5 == 0 {
			m.Edge.Type = other
		}
		if i%7 > 0 {
			m.Props = []graph.Property{{ID: prop, Value: graph.ListValue([]graph.Value{number(i), number(i % 5), number(1)})}}
		}
		return m
	}
	for i := range 1000 {
		ties = append(ties, tie(i))
	}
	require.NoError(t, tx.Apply(t.Context(), ties))
	require.NoError(t, tx.Commit(t.Context()))

	var probe vector.Probe
	require.True(t, probe.Set(graph.Euclidean, graph.ListValue([]graph.Value{number(250), number(2), number(1)})))
	tx, err = g.Begin(t.Context(), shard.Write)
	require.NoError(t, err)
	defer tx.Rollback()
	for range 3 {
		var best, want shard.Top
		edges := 0
		for i := range ties {
			if ties[i].Edge.Type != typ {
				continue
			}
			edges++
			if len(ties[i].Props) > 0 {
				score, ok := probe.Score(ties[i].Props[0].Value)
				require.True(t, ok)
				want.Add(10, shard.Hit{Score: score, ID: uint64(ties[i].Edge.ID), Edge: ties[i].Edge})
			}
		}
		found, err := tx.Nearest(t.Context(), &shard.Nearest{Type: typ, Prop: prop, Probe: &probe, K: 10}, &best)
		require.NoError(t, err)
		require.True(t, found.Done)
		require.LessOrEqual(t, found.Compared, edges)
		best.Sort()
		want.Sort()
		require.Equal(t, want, best)
		more := []shard.Mutation{tie(249), tie(251)}
		require.NoError(t, tx.Apply(t.Context(), more))
		ties = append(ties, more...)
	}
}
