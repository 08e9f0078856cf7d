package read_test

import (
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/alloctest"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// TestReadAllocations bounds what a warm request allocates, whatever the number of its rows.
func TestReadAllocations(t *testing.T) {
	s, err := local.Open(local.Options{Dir: "data", FS: vfs.NewMem()})
	require.NoError(t, err)
	lg, err := s.Local("default")
	require.NoError(t, err)
	ctx := context.Background()
	tx, err := lg.Begin(ctx, shard.Write)
	require.NoError(t, err)
	knows, err := tx.Type("KNOWS")
	require.NoError(t, err)
	age, err := tx.Prop("age")
	require.NoError(t, err)
	const n = 2000
	ms := make([]shard.Mutation, n)
	for i := range ms {
		ms[i].Props = []graph.Property{{ID: age, Value: graph.IntValue(int64(i))}}
	}
	require.NoError(t, tx.Apply(ctx, ms))
	edges := make([]shard.Mutation, 10*n)
	for i := range edges {
		edges[i] = shard.Mutation{
			Op: shard.CreateEdge, Edge: graph.Edge{Src: ms[i%n].Vertex, Dst: ms[(i*7)%n].Vertex, Type: knows},
			Props: []graph.Property{{ID: age, Value: graph.StringValue("since 2010")}},
		}
	}
	require.NoError(t, tx.Apply(ctx, edges))
	require.NoError(t, tx.Commit(ctx))
	require.NoError(t, lg.Settle(ctx))
	read, err := lg.Begin(ctx, shard.Read)
	require.NoError(t, err)
	ids := make([]graph.VertexID, 1000)
	for i := range ids {
		ids[i] = ms[i].Vertex
	}
	cols := shard.Columns(1, len(ids))
	props := []graph.PropID{age}
	some := make([]graph.Edge, len(ids))
	for i := range some {
		some[i] = edges[i].Edge
	}
	var res shard.Neighbours
	req := shard.Expand{Sources: ids, Types: []graph.TypeID{knows}, Edges: true}
	for _, plain := range []bool{false, true} {
		if plain {
			read.(*local.Tx).Plain()
		}
		for name, f := range map[string]func() error{
			"properties": func() error { return read.Properties(ctx, ids, props, cols) },
			"expand":     func() error { return read.Expand(ctx, &req, &res) },
			"edges":      func() error { return read.EdgeProperties(ctx, some, props, cols) },
		} {
			if plain && name == "edges" {
				continue // an iterator for each list
			}
			got := alloctest.Least(3, func() {
				if err := f(); err != nil {
					t.Fatal(err)
				}
			})
			most := 20.0
			if raceDetector {
				most += 4 * float64(len(ids)) // which it sees in some runs
			}
			require.LessOrEqual(t, got, most, "%s of %d vertices, plain %v", name, len(ids), plain)
		}
	}
	require.Len(t, res.Targets, 10*len(ids))
	read.Rollback()
	require.NoError(t, s.Close())
}
