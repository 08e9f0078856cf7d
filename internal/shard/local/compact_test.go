package local

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/shardtest"
	"github.com/hopgate/hopgate/internal/storage"
)

// TestCompactBesideWriters has transactions commit between all steps of a compaction of groups, which is applied, or not where they
// touched what it replaces; all can be read as before either way.
func TestCompactBesideWriters(t *testing.T) {
	ctx := context.Background()
	useful, vain := 0, 0
	for seed := uint64(0); seed < uint64(seeds(32)) || seed < 200 && (useful == 0 || vain == 0); seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 11))
			opts := tiny(rng, 1+int(seed)%3)
			opts.Tuning.CompactRecords = -1
			opts.FS = vfs.NewMem()
			b, store := backing(t, alone(t, opts))
			w := shardtest.NewModel(t, rng, b.Graph, opts.Shards)
			w.Schema()
			g, err := store().Local("default")
			require.NoError(t, err)
			compare := func() {
				tx, o := w.Begin(shard.Read)
				w.Compare(tx, o)
				tx.Rollback()
				o.Rollback()
			}
			some := func() {
				for range rng.IntN(3) {
					if rng.IntN(2) == 0 {
						groupsOfEdges(t, w)
					}
					w.Transaction()
				}
			}
			for range 12 {
				some()
				require.NoError(t, g.lock(ctx))
				var xs []*storage.Compaction
				for _, s := range g.shards {
					x, err := s.BeginCompaction()
					require.NoError(t, err)
					xs = append(xs, x)
				}
				g.unlock()
				some()
				for _, x := range xs {
					require.NoError(t, x.Run(ctx, 1+rng.IntN(40)))
				}
				some()
				require.NoError(t, g.lock(ctx))
				for _, x := range xs {
					n, used, err := x.End()
					require.NoError(t, err)
					switch {
					case !used:
						vain++
					case n > 0:
						useful++
					}
				}
				require.NoError(t, g.compactor.End(true, nil))
				compare()
				if rng.IntN(3) == 0 {
					_, err := g.compactor.Step(ctx)
					require.NoError(t, err)
					compare()
				}
			}
			require.NoError(t, g.Settle(ctx))
			compare()
			checkClean(t, store(), "default")
		})
	}
	require.NotZero(t, useful)
	require.NotZero(t, vain)
}

// groupsOfEdges creates edges of one type one after the other, which come as groups.
func groupsOfEdges(t *testing.T, w *shardtest.Model) {
	ctx := context.Background()
	tx, o := w.Begin(shard.Write)
	defer func() { tx.Rollback(); o.Rollback() }()
	if len(w.Vertices) == 0 {
		return
	}
	typ := w.Types[w.Rng.IntN(len(w.Types))]
	var ms, os []shard.Mutation
	for range 4 + w.Rng.IntN(12) {
		src, dst := w.Vertices[w.Rng.IntN(len(w.Vertices))], w.Vertices[w.Rng.IntN(len(w.Vertices))]
		ms = append(ms, shard.Mutation{Op: shard.CreateEdge, Edge: graph.Edge{Src: src.Here, Dst: dst.Here, Type: typ}})
		os = append(os, shard.Mutation{Op: shard.CreateEdge, Edge: graph.Edge{Src: src.There, Dst: dst.There, Type: typ}})
	}
	err, oerr := tx.Apply(ctx, ms), o.Apply(ctx, os)
	require.Equal(t, oerr == nil, err == nil, "%v against %v", err, oerr)
	if err != nil { // the end of one is deleted
		return
	}
	err, oerr = tx.Commit(ctx), o.Commit(ctx)
	require.NoError(t, oerr)
	require.NoError(t, err)
	for i := range ms {
		w.Edges = append(w.Edges, shardtest.Pair[graph.Edge]{Here: ms[i].Edge, There: os[i].Edge})
	}
}

// TestCompactBesideLoad has a batch of a load commit, as a table and through the log, while its lists are compacted: the compaction
// must not delete the batch's edges.
func TestCompactBesideLoad(t *testing.T) {
	ctx := context.Background()
	for _, ingest := range []int{1, 1 << 20} {
		opts := Options{Dir: "data", FS: vfs.NewMem(), Tuning: Tuning{CompactRecords: -1, CompactStep: 4, IngestBytes: ingest}}
		c := openCounting(t, opts)
		opts.FS = vfs.NewMem()
		quiet := openCounting(t, opts)
		g := c.g.(*Graph)
		for seq := uint64(1); seq <= 40; seq++ {
			require.NoError(t, quiet.g.Load(ctx, quiet.batch(seq)))
			require.NoError(t, g.lock(ctx))
			x, err := g.shards[0].BeginCompaction()
			g.unlock()
			require.NoError(t, err)
			require.NoError(t, x.Run(ctx, 4))
			if seq%4 > 0 {
				require.NoError(t, c.g.Load(ctx, c.batch(seq)))
			}
			require.NoError(t, g.lock(ctx))
			_, _, err = x.End()
			require.NoError(t, err)
			require.NoError(t, g.compactor.End(true, nil))
			if seq%4 == 0 {
				require.NoError(t, c.g.Load(ctx, c.batch(seq)))
			}
			require.Equal(t, quiet.state(), c.state())
		}
		require.NoError(t, g.Settle(ctx))
		checkDegrees(t, g)
		checkClean(t, c.store, "default")
		require.NoError(t, c.store.Close())
		require.NoError(t, quiet.store.Close())
	}
}
