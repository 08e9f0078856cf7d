package write_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/exectest"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/local/localtest"
)

// TestPackedVertices makes runs of new vertices of random lengths over several cells of the grid and bitmaps, while
// transactions that have taken ids commit later, properties change and delta records are compacted.
func TestPackedVertices(t *testing.T) {
	ctx := context.Background()
	for seed := range localtest.EachSeed(t, localtest.Seeds(8)) {
		rng := rand.New(rand.NewPCG(seed, 7))
		s, err := local.Open(local.Options{Dir: "data", FS: vfs.NewMem(), Shards: 1 + int(seed%2), ValueThreshold: 64, Tuning: local.Tuning{
			CompactRecords: -1, PackVertices: 1 + rng.IntN(40), ChunkBytes: 100 << rng.IntN(8), PlaceBlock: 200,
		}})
		require.NoError(t, err)
		g, err := s.Local(local.DefaultGraph)
		require.NoError(t, err)
		begin := func() shard.Tx {
			tx, err := g.Begin(ctx, shard.Write)
			require.NoError(t, err)
			return tx
		}
		tx := begin()
		number, err := tx.Prop("number")
		require.NoError(t, err)
		text, err := tx.Prop("text")
		require.NoError(t, err)
		label, err := tx.Label("L")
		require.NoError(t, err)
		set, err := tx.LabelSet([]graph.LabelID{label})
		require.NoError(t, err)
		tx.Rollback()

		ids, want := []graph.VertexID{}, [][2]graph.Value{}
		value := func() (v [2]graph.Value) {
			v[0] = graph.IntValue(rng.Int64N(1000))
			switch rng.IntN(4) {
			case 0:
			case 1:
				v[1] = graph.StringValue(strings.Repeat("x", rng.IntN(200)))
			default:
				v[1] = graph.StringValue(strconv.Itoa(rng.IntN(5)))
			}
			return v
		}
		apply := func(tx shard.Tx) (commit func()) {
			ms, vals := make([]shard.Mutation, 1+rng.IntN(200)), [][2]graph.Value{}
			for i := range ms {
				v := value()
				vals = append(vals, v)
				ms[i] = shard.Mutation{Op: shard.CreateVertex, Labels: set, Props: []graph.Property{{ID: number, Value: v[0]}, {ID: text, Value: v[1]}}}
			}
			require.NoError(t, tx.Apply(ctx, ms))
			at := rng.IntN(len(ms))
			vals[at][0] = graph.IntValue(-1)
			require.NoError(t, tx.Apply(ctx, []shard.Mutation{
				{Op: shard.SetVertex, Vertex: ms[at].Vertex, Props: []graph.Property{{ID: number, Value: vals[at][0]}}},
			}))
			return func() {
				require.NoError(t, tx.Commit(ctx))
				for i := range ms {
					ids, want = append(ids, ms[i].Vertex), append(want, vals[i])
				}
			}
		}
		for len(ids) < 3000 {
			first := begin()
			commit := apply(first)
			if rng.IntN(3) == 0 {
				apply(begin())()
			}
			if rng.IntN(6) == 0 {
				require.NoError(t, g.Settle(ctx))
			}
			commit()
			if rng.IntN(3) == 0 {
				tx, i, v := begin(), rng.IntN(len(ids)), value()
				want[i] = v
				require.NoError(t, tx.Apply(ctx, []shard.Mutation{
					{Op: shard.SetVertex, Vertex: ids[i], Props: []graph.Property{{ID: number, Value: v[0]}, {ID: text, Value: v[1]}}},
				}))
				require.NoError(t, tx.Commit(ctx))
			}
		}
		for range 2 {
			read, err := g.Begin(ctx, shard.Read)
			require.NoError(t, err)
			out := shard.Columns(2, len(ids))
			require.NoError(t, read.Properties(ctx, ids, []graph.PropID{number, text}, out))
			for i := range ids {
				got := []graph.Value{out[0][i], out[1][i]}
				require.Equal(t, exectest.ShowRow(want[i][:]), exectest.ShowRow(got), "seed %d, vertex %d", seed, ids[i])
			}
			require.EqualValues(t, len(ids), read.Counts().ByLabel["L"])
			read.Rollback()
			rep := localtest.CheckClean(t, s, local.DefaultGraph)
			require.EqualValues(t, len(ids), rep.Vertices)
			require.NoError(t, g.Settle(ctx))
		}
		require.NoError(t, s.Close())
	}
}
