package past_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/local/localtest"
	"github.com/hopgate/hopgate/internal/shard/past"
)

// BenchmarkReads compares reads of the present with those of a moment since which one vertex and one edge in a hundred have changed.
func BenchmarkReads(b *testing.B) {
	ctx := context.Background()
	s, err := local.Open(local.Options{Dir: "data", FS: vfs.NewMem(), Shards: 2, LogBytes: 1 << 30, Logger: localtest.Quiet()})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	g, err := s.Local("default")
	require.NoError(b, err)
	const vertices, degree = 20_000, 10
	rng := rand.New(rand.NewPCG(1, 1))
	tx, err := g.Begin(ctx, shard.Write)
	require.NoError(b, err)
	prop, err := tx.Prop("p")
	require.NoError(b, err)
	label, err := tx.Label("L")
	require.NoError(b, err)
	set, err := tx.LabelSet([]graph.LabelID{label})
	require.NoError(b, err)
	typ, err := tx.Type("T")
	require.NoError(b, err)
	ms, es := make([]shard.Mutation, vertices), make([]shard.Mutation, vertices*degree)
	for i := range ms {
		ms[i] = shard.Mutation{Op: shard.CreateVertex, Labels: set, Props: []graph.Property{{ID: prop, Value: graph.IntValue(int64(i))}}}
	}
	require.NoError(b, tx.Apply(ctx, ms))
	for i := range es {
		es[i] = shard.Mutation{Op: shard.CreateEdge, Edge: graph.Edge{Src: ms[i/degree].Vertex, Dst: ms[rng.IntN(vertices)].Vertex, Type: typ}}
	}
	require.NoError(b, tx.Apply(ctx, es))
	require.NoError(b, tx.Commit(ctx))
	tx, err = g.Begin(ctx, shard.Read)
	require.NoError(b, err)
	moment, _ := tx.Features().Commits.Position()
	tx.Rollback()
	tx, err = g.Begin(ctx, shard.Write)
	require.NoError(b, err)
	var change []shard.Mutation
	for i := 0; i < vertices; i += 100 {
		change = append(change, shard.Mutation{Op: shard.SetVertex, Vertex: ms[i].Vertex, Props: []graph.Property{{ID: prop, Value: graph.IntValue(-1)}}})
	}
	for i := 0; i < len(es); i += 100 {
		change = append(change, shard.Mutation{Op: shard.DeleteEdge, Edge: es[i].Edge})
	}
	require.NoError(b, tx.Apply(ctx, change))
	require.NoError(b, tx.Commit(ctx))
	require.NoError(b, g.Settle(ctx))

	live, err := g.Begin(ctx, shard.Read)
	require.NoError(b, err)
	b.Cleanup(live.Rollback)
	under, err := g.Begin(ctx, shard.Read)
	require.NoError(b, err)
	then, err := past.New(g, past.DefaultBytes).At(ctx, under, moment, 0)
	require.NoError(b, err)
	b.Cleanup(then.Rollback)
	ids := make([]graph.VertexID, 0, graph.BatchSize)
	ids, _, _, err = live.Scan(ctx, 0, 0, ids)
	require.NoError(b, err)
	for _, side := range []struct {
		name string
		tx   shard.Tx
	}{{"live", live}, {"past", then}} {
		tx := side.tx
		b.Run("scan/"+side.name, func(b *testing.B) {
			buf := make([]graph.VertexID, 0, graph.BatchSize)
			for b.Loop() {
				_, _, _, err := tx.Scan(ctx, label, 0, buf)
				require.NoError(b, err)
			}
		})
		b.Run("properties/"+side.name, func(b *testing.B) {
			cols := shard.Columns(1, len(ids))
			for b.Loop() {
				require.NoError(b, tx.Properties(ctx, ids, []graph.PropID{prop}, cols))
			}
		})
		b.Run("expand/"+side.name, func(b *testing.B) {
			req, res := shard.Expand{Sources: ids, Types: []graph.TypeID{typ}, Edges: true}, shard.Neighbours{}
			for b.Loop() {
				require.NoError(b, tx.Expand(ctx, &req, &res))
			}
		})
		b.Run("into/"+side.name, func(b *testing.B) {
			for b.Loop() {
				var set graph.VertexSet
				req, res := shard.Expand{Sources: ids, Types: []graph.TypeID{typ}, Into: &set}, shard.Neighbours{}
				require.NoError(b, tx.Expand(ctx, &req, &res))
			}
		})
		b.Run("degrees/"+side.name, func(b *testing.B) {
			out := make([]int, len(ids))
			for b.Loop() {
				require.NoError(b, tx.Degrees(ctx, ids, nil, graph.Out, out))
			}
		})
	}
}
