package local

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/localtest"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/check"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/stats"
)

// propCounts returns the counts of properties, and recounts to compare.
func propCounts(t *testing.T, g *Graph) map[graph.PropOf]uint64 {
	t.Helper()
	ctx := context.Background()
	tx, err := g.Begin(ctx, shard.Read)
	require.NoError(t, err)
	defer tx.Rollback()
	want := map[graph.PropOf]uint64{}
	ids := localtest.Vertices(t, tx, 0)
	recs := make([]shard.Record, len(ids))
	require.NoError(t, tx.Records(ctx, ids, recs))
	for _, r := range recs {
		for _, p := range r.Props {
			want[graph.PropOf{Prop: g.PropName(p.ID)}]++
			for _, l := range g.Labels(r.Labels) {
				want[graph.PropOf{Label: g.LabelName(l), Prop: g.PropName(p.ID)}]++
			}
		}
	}
	var res shard.Neighbours
	require.NoError(t, tx.Expand(ctx, &shard.Expand{Sources: ids, Edges: true}, &res))
	var edges []graph.Edge
	for i, id := range ids {
		for k := res.Offsets[i]; k < res.Offsets[i+1]; k++ {
			edges = append(edges, graph.Edge{ID: res.Edges[k], Type: res.Types[k], Src: id, Dst: res.Targets[k]})
		}
	}
	recs = make([]shard.Record, len(edges))
	require.NoError(t, tx.EdgeRecords(ctx, edges, recs))
	for i, r := range recs {
		for _, p := range r.Props {
			want[graph.PropOf{Type: g.TypeName(edges[i].Type), Prop: g.PropName(p.ID)}]++
		}
	}
	got := tx.Statistics().Props
	require.Equal(t, want, got)
	return got
}

// TestProps keeps the counts of properties through compacts and restarts, finds wrong ones and repairs them.
func TestProps(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(3, 1))
	opts := tiny(rng, 2)
	opts.FS, opts.Dir, opts.Logger = vfs.NewMem(), "data", quiet()
	l, err := openLedger(opts)
	require.NoError(t, err)
	for i := range 60 {
		require.NoError(t, l.write(rng))
		if i%20 == 19 {
			propCounts(t, l.g)
			require.NoError(t, l.g.Settle(ctx))
		}
	}
	was := propCounts(t, l.g)
	require.NotEmpty(t, was)
	var vertices, edges int
	for of := range was {
		if of.Type != "" {
			edges++
		} else if of.Label != "" {
			vertices++
		}
	}
	require.Positive(t, vertices)
	require.Positive(t, edges)

	var harm []storage.Fix
	for no, s := range l.g.shards {
		for _, c := range s.Counters() {
			key := []byte{byte(keys.Counter), byte(c.Kind)}
			switch c.Kind {
			case stats.CountProp:
				key = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(key, uint32(c.Set)), uint32(c.Prop))
				harm = append(harm, storage.Fix{Shard: no, Key: key, Value: binary.AppendVarint(nil, 77)})
			case stats.CountEdgeProp:
				key = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(key, uint32(c.Type)), uint32(c.Prop))
				harm = append(harm, storage.Fix{Shard: no, Key: key, Delete: true})
			}
		}
	}
	l.harm(t, harm...)
	rep, err := l.store.Check(ctx, "default", shard.CheckOptions{Repair: true})
	require.NoError(t, err)
	require.EqualValues(t, len(harm), finding(rep, check.FaultCounter).Repaired)
	checkClean(t, l.store, "default")
	require.Equal(t, was, propCounts(t, l.g))
	require.NoError(t, l.store.Close())
	l, err = openLedger(opts)
	require.NoError(t, err)
	require.Equal(t, was, propCounts(t, l.g))
	require.NoError(t, l.store.Close())
}
