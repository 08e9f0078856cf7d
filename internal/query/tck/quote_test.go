package tck

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/explain"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// TestQuotes runs random statements that read on random graphs: none that succeeds takes more visits than EXPLAIN quotes, and most have a quote.
func TestQuotes(t *testing.T) {
	seeds := 80
	if testing.Short() {
		seeds = 30
	}
	store, err := local.Open(local.Options{Dir: "data", FS: vfs.NewMem(), Shards: 3})
	require.NoError(t, err)
	defer store.Close()
	e := query.New(store, query.Options{})
	run := func(name, statement string) (*explain.Node, int64, error) {
		res, err := e.Query(t.Context(), query.Request{Graph: name, Statement: statement})
		if err != nil {
			return nil, 0, err
		}
		defer res.Close()
		for {
			if b, err := res.Next(); b == nil || err != nil {
				return res.Summary().Plan, res.Cost().Visits, err
			}
		}
	}
	texts := make([][]string, seeds)
	for i := range texts {
		name := fmt.Sprint("g", i)
		require.NoError(t, store.CreateGraph(t.Context(), name))
		g := &grammar{r: rand.New(rand.NewPCG(uint64(i), 53))}
		_, _, err := run(name, g.graph())
		require.NoError(t, err)
		for _, on := range []string{"(n:A) ON (n.x)", "(n:B) ON (n.x, n.s)", "()-[n:T]-() ON (n.w)"} {
			if g.chance(40) {
				_, _, err := run(name, "CREATE INDEX FOR "+on)
				require.NoError(t, err)
			}
		}
		if g.chance(50) {
			_, _, err := run(name, "CREATE CONSTRAINT FOR (n:A) REQUIRE n.id IS UNIQUE")
			require.NoError(t, err)
		}
		for range ofGraph {
			g := &grammar{r: g.r}
			text, _ := g.query()
			texts[i] = append(texts[i], text)
		}
	}
	for i := range texts {
		degreesSettle(t, store, fmt.Sprint("g", i))
	}
	asked, quoted, read := 0, 0, int64(0)
	for i := range texts {
		name := fmt.Sprint("g", i)
		for _, text := range texts[i] {
			plan, _, err := run(name, "EXPLAIN "+text)
			if err != nil {
				continue
			}
			require.NotNil(t, plan.Quote, text)
			_, visits, err := run(name, text)
			if err != nil {
				continue
			}
			asked++
			if plan.Quote.Reason != "" {
				continue
			}
			quoted++
			read += visits
			require.LessOrEqual(t, visits, plan.Quote.Visits, "graph %s: %s", name, text)
		}
	}
	t.Logf("%d of %d statements have a quote; they took %d visits", quoted, asked, read)
	require.Greater(t, quoted, asked/2)
	require.Positive(t, read)
}

// degreesSettle waits until the histograms of a graph's degrees have what was written.
func degreesSettle(t *testing.T, store shard.Store, name string) {
	g, err := store.Graph(name)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		tx, err := g.Begin(t.Context(), shard.Read)
		require.NoError(t, err)
		defer tx.Rollback()
		c := tx.Statistics()
		for typ := range c.ByType {
			if len(c.Degrees[graph.TypeDir{Type: typ, Dir: graph.Out}]) == 0 {
				return false
			}
		}
		return true
	}, time.Minute, time.Millisecond)
}
