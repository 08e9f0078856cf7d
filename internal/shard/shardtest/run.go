package shardtest

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/shard"
)

// Backing is an empty graph of a backing, ready for a test.
type Backing struct {
	Graph  shard.Graph
	Settle func(ctx context.Context) error // as in Model
	Reopen func() shard.Graph              // as in Model
}

// Run makes random changes to graphs of a backing, one for each seed and number of shards, and compares what can be read of them with the
// oracle's answers. missing are the features that the backing does not have, and no other. open returns a graph whose sizes it chooses at
// random; it closes it at the end of the test.
func Run(t *testing.T, seeds iter.Seq[uint64], shards []int, open func(t *testing.T, rng *rand.Rand, shards int) Backing, missing ...shard.Feature) {
	for seed := range seeds {
		for _, n := range shards {
			t.Run(fmt.Sprintf("seed=%d/shards=%d", seed, n), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, uint64(n)))
				b := open(t, rng, n)
				w := NewModel(t, rng, b.Graph, n)
				w.Settle, w.Reopen = b.Settle, b.Reopen
				w.Schema()
				for _, mode := range []shard.Mode{shard.Read, shard.Write, shard.WriteInTurn, shard.WriteExclusive} {
					checkFeatures(t, w.Graph, mode, missing)
				}
				for range 30 {
					w.Step()
				}
			})
		}
	}
}

// checkFeatures checks that the transactions of a graph have all features but some, and that each of these has a reason.
func checkFeatures(t *testing.T, g shard.Graph, mode shard.Mode, missing []shard.Feature) {
	t.Helper()
	tx, err := g.Begin(context.Background(), mode)
	require.NoError(t, err)
	defer tx.Rollback()
	f := tx.Features()
	require.NoError(t, f.Check())
	require.Equal(t, g.Features(), f.Set)
	var got []shard.Feature
	for x := range shard.NumFeatures {
		if !f.Set.Has(x) {
			got = append(got, x)
		}
	}
	require.ElementsMatch(t, missing, got)
}
