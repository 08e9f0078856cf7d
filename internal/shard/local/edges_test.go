package local

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/exectest"
	"github.com/hopgate/hopgate/internal/shard"
)

// TestPackedEdges makes runs of edges between vertices of several chunks, while single edges are made, changed and
// deleted, transactions that have taken ids commit later and a step is compacted now and then.
func TestPackedEdges(t *testing.T) {
	ctx := context.Background()
	for seed := range eachSeed(t, seeds(4)) {
		rng := rand.New(rand.NewPCG(seed, 11))
		s, err := Open(Options{Dir: "data", FS: vfs.NewMem(), Shards: 1 + int(seed%2), ValueThreshold: 64, Tuning: Tuning{
			CompactRecords: -1, CompactStep: 1 + rng.IntN(300), PackEdges: 1 + rng.IntN(30), SegmentBytes: 100 << rng.IntN(8),
		}})
		require.NoError(t, err)
		g, err := s.Local(DefaultGraph)
		require.NoError(t, err)
		begin := func(mode shard.Mode) shard.Tx {
			tx, err := g.Begin(ctx, mode)
			require.NoError(t, err)
			return tx
		}
		tx := begin(shard.Write)
		props := make([]graph.PropID, 2)
		for i, name := range []string{"number", "text"} {
			props[i], err = tx.Prop(name)
			require.NoError(t, err)
		}
		types := make([]graph.TypeID, 2)
		for i := range types {
			types[i], err = tx.Type(fmt.Sprint("T", i))
			require.NoError(t, err)
		}
		// The vertices lie at the ends of two chunks.
		ms := make([]shard.Mutation, 66_000*len(g.shards))
		for i := range ms {
			ms[i].Op = shard.CreateVertex
		}
		require.NoError(t, tx.Apply(ctx, ms))
		require.NoError(t, tx.Commit(ctx))
		var ends []graph.VertexID
		for i := range ms {
			if n := ms[i].Vertex.Local(); n < 30 || n > 65_500 && n < 65_560 {
				ends = append(ends, ms[i].Vertex)
			}
		}
		type stored struct {
			edge graph.Edge
			vals [2]graph.Value
		}
		want := map[graph.EdgeID]stored{}
		var ids []graph.EdgeID // of want, and of some that are not there any more
		value := func() (v [2]graph.Value) {
			switch rng.IntN(3) {
			case 0:
				v[1] = graph.StringValue(strings.Repeat("x", rng.IntN(200)))
			case 1:
				v[0] = graph.IntValue(rng.Int64N(1000))
			}
			return v
		}
		of := func(v [2]graph.Value) []graph.Property {
			return []graph.Property{{ID: props[0], Value: v[0]}, {ID: props[1], Value: v[1]}}
		}
		create := func(tx shard.Tx, most int) (done func()) {
			ms, vals := make([]shard.Mutation, 1+rng.IntN(most)), [][2]graph.Value{}
			plain, typ := rng.IntN(2) == 0, types[rng.IntN(2)]
			for i := range ms {
				v := [2]graph.Value{}
				if !plain {
					v = value()
				}
				vals = append(vals, v)
				ms[i] = shard.Mutation{Op: shard.CreateEdge, Props: of(v), Edge: graph.Edge{
					Src: ends[rng.IntN(len(ends))], Dst: ends[rng.IntN(len(ends))], Type: typ,
				}}
			}
			require.NoError(t, tx.Apply(ctx, ms))
			return func() {
				for i := range ms {
					want[ms[i].Edge.ID] = stored{ms[i].Edge, vals[i]}
					ids = append(ids, ms[i].Edge.ID)
				}
			}
		}
		change := func(tx shard.Tx) {
			for range rng.IntN(20) {
				w, ok := want[ids[rng.IntN(len(ids))]]
				switch {
				case !ok:
				case rng.IntN(2) == 0:
					require.NoError(t, tx.Apply(ctx, []shard.Mutation{{Op: shard.DeleteEdge, Edge: w.edge}}))
					delete(want, w.edge.ID)
				default:
					w.vals = value()
					want[w.edge.ID] = w
					require.NoError(t, tx.Apply(ctx, []shard.Mutation{{Op: shard.SetEdge, Edge: w.edge, Props: of(w.vals)}}))
				}
			}
		}
		check := func(tx shard.Tx) {
			edges, degrees := []graph.Edge{}, map[graph.VertexID]int{}
			for _, w := range want {
				edges = append(edges, w.edge)
				degrees[w.edge.Src]++
				degrees[w.edge.Dst]++
			}
			out := make([]shard.Record, len(edges))
			require.NoError(t, tx.EdgeRecords(ctx, edges, out))
			for i, e := range edges {
				require.NotZero(t, out[i].Labels, "seed %d, edge %v", seed, e)
				got := [2]graph.Value{}
				for _, p := range out[i].Props {
					got[p.ID-props[0]] = p.Value
				}
				w := want[e.ID].vals
				require.Equal(t, exectest.ShowRow(w[:]), exectest.ShowRow(got[:]), "seed %d, edge %v", seed, e)
			}
			got := make([]int, len(ends))
			require.NoError(t, tx.Degrees(ctx, ends, nil, graph.Out, got))
			in := make([]int, len(ends))
			require.NoError(t, tx.Degrees(ctx, ends, nil, graph.In, in))
			for i, id := range ends {
				require.Equal(t, degrees[id], got[i]+in[i], "seed %d, vertex %d", seed, id)
			}
		}
		for range 25 {
			late := begin(shard.Write)
			committed := create(late, 200)
			if rng.IntN(3) == 0 {
				tx := begin(shard.Write)
				done := create(tx, 3)
				require.NoError(t, tx.Commit(ctx))
				done()
			}
			if rng.IntN(2) == 0 {
				_, err := g.compactor.Step(ctx)
				require.NoError(t, err)
			}
			require.NoError(t, late.Commit(ctx))
			committed()
			tx := begin(shard.Write)
			create(tx, 60)()
			change(tx)
			check(tx)
			require.NoError(t, tx.Commit(ctx))
			if rng.IntN(4) == 0 {
				read := begin(shard.Read)
				check(read)
				read.Rollback()
				checkClean(t, s, DefaultGraph)
			}
		}
		require.NoError(t, g.Settle(ctx))
		read := begin(shard.Read)
		check(read)
		read.Rollback()
		require.EqualValues(t, len(want), checkClean(t, s, DefaultGraph).Edges)
		require.NoError(t, s.Close())
	}
}
