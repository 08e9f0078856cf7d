package remote_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// TestRepeatedKeys loads random keys through gateways while leaders die, and compares what became of each row with a set of the keys that
// the load has written. A load without a stream ends with its leader unless repeated keys make no difference.
func TestRepeatedKeys(t *testing.T) {
	c := newReplicated(t, 3, 3)
	ctx, rng := t.Context(), rand.New(rand.NewPCG(4, 2))
	open := func() shard.Graph {
		g, err := c.gateway().Graph(local.DefaultGraph)
		require.NoError(t, err)
		return g
	}
	g := open()
	require.NoError(t, g.CreateIndex(ctx, graph.Index{Name: "ids", Label: "V", Props: []string{"id"}, Unique: true, Indexed: true}))
	tx, err := g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	label, err := tx.Label("V")
	require.NoError(t, err)
	set, err := tx.LabelSet([]graph.LabelID{label})
	require.NoError(t, err)
	n, err := tx.Prop("n")
	require.NoError(t, err)
	tx.Rollback()
	failOver := func() {
		was := c.leader(0)
		c.kill(was)
		c.start(was)
		c.leader(0)
	}

	values := map[int64]int64{} // of all vertices
	for _, how := range []shard.OnDuplicate{shard.DuplicateOverwrite, shard.DuplicateKeepFirst, shard.DuplicateError} {
		seen := map[int64]bool{} // by the load
		for seq := uint64(1); seq <= 8; seq++ {
			if seq == 3 || seq == 6 {
				failOver()
			}
			if seq%2 == 0 {
				g = open()
			}
			v := shard.LoadVertices{Labels: set, Space: g.Indexes()[0].ID, Props: []shard.LoadColumn{{Prop: n}}, OnDuplicate: how}
			var want shard.RowCounts
			var refused []int
			for row := range 40 {
				key, value := rng.Int64N(200), rng.Int64()
				v.Keys = append(v.Keys, graph.IntValue(key))
				v.Props[0].Values = append(v.Props[0].Values, graph.IntValue(value))
				_, exists := values[key]
				again := seen[key]
				switch {
				case again && how == shard.DuplicateError:
					refused = append(refused, row)
					continue
				case again && how == shard.DuplicateKeepFirst:
					want.Unchanged++
				case exists:
					want.Overwritten++
					values[key] = value
				default:
					want.Created++
					values[key] = value
				}
				if seen[key] = true; again {
					want.Repeated++
				}
			}
			l := &shard.Load{Stream: fmt.Sprint("s", how), Seq: seq, Mark: []byte{byte(seq)}, Vertices: []shard.LoadVertices{v}}
			require.NoError(t, g.Load(ctx, l))
			var got []int
			for _, r := range l.Rejected {
				require.Equal(t, "RepeatedKey", r.Code)
				got = append(got, r.Row)
			}
			if l.Skipped { // its first answer was lost
				want.Repeated = l.Counts.Vertices.Repeated
			}
			if how == shard.DuplicateOverwrite { // a new leader does not know those of before
				require.LessOrEqual(t, l.Counts.Vertices.Repeated, want.Repeated)
				want.Repeated = l.Counts.Vertices.Repeated
			}
			require.Equal(t, refused, got)
			require.Equal(t, want, l.Counts.Vertices)
		}
	}
	var keys []graph.Value
	for key := range values {
		keys = append(keys, graph.IntValue(key))
	}
	tx, err = g.Begin(ctx, shard.Read)
	require.NoError(t, err)
	defer tx.Rollback()
	var f shard.Found
	require.NoError(t, tx.Seek(ctx, &shard.Seek{Index: g.Indexes()[0].ID, Keys: keys}, &f))
	require.Len(t, f.IDs, len(keys))
	out := shard.Columns(1, len(keys))
	require.NoError(t, tx.Properties(ctx, f.IDs, []graph.PropID{n}, out))
	for i, key := range keys {
		require.Equal(t, values[key.Int()], out[0][i].Int())
	}

	run := func(how shard.OnDuplicate, restart bool) (*shard.Load, error) {
		l := &shard.Load{Run: "run", Restart: restart, Vertices: []shard.LoadVertices{{
			Labels: set, Space: g.Indexes()[0].ID, Keys: keys[:3], OnDuplicate: how,
		}}}
		return l, g.Load(ctx, l)
	}
	for i, want := range []shard.RowCounts{{Unchanged: 3}, {Unchanged: 3, Repeated: 3}, {Unchanged: 3}} {
		l, err := run(shard.DuplicateKeepFirst, i != 1)
		require.NoError(t, err)
		require.Equal(t, want, l.Counts.Vertices)
	}
	failOver()
	g = open()
	_, err = run(shard.DuplicateKeepFirst, false)
	require.ErrorContains(t, err, "begin it again")
	l, err := run(shard.DuplicateOverwrite, false)
	require.NoError(t, err)
	require.Equal(t, shard.RowCounts{Unchanged: 3}, l.Counts.Vertices)
}
