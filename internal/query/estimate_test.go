package query

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// skewed fills a graph whose vertices have very different degrees, by preferential attachment.
func skewed(t *testing.T, e *Engine) {
	must(t, e, "CREATE CONSTRAINT FOR (p:P) REQUIRE p.k IS UNIQUE")
	must(t, e, "CREATE INDEX FOR (p:P) ON (p.g)")
	must(t, e, "UNWIND range(0, 1999) AS i CREATE (:P {k: i, g: i % 50})")
	rnd := rand.New(rand.NewPCG(1, 2))
	ends, pairs := []int64{0}, []graph.Value{}
	for i := int64(1); i < 2000; i++ {
		for range 3 {
			j := ends[rnd.IntN(len(ends))]
			ends = append(ends, j, i)
			pairs = append(pairs, graph.ListValue([]graph.Value{graph.IntValue(i), graph.IntValue(j)}))
		}
	}
	_, err := e.rows(Request{Statement: "UNWIND $pairs AS p MATCH (a:P {k: p[0]}), (b:P {k: p[1]}) CREATE (a)-[:T]->(b)", Params: map[string]graph.Value{"pairs": graph.ListValue(pairs)}})
	require.NoError(t, err)
}

// precisely returns what a statement takes, beside what a request with a ceiling expects.
func precisely(t *testing.T, e *Engine, statement string, params map[string]graph.Value) (estimate, actual float64) {
	res, err := e.Query(context.Background(), Request{Statement: statement, Params: params, Limits: &Limits{Units: math.MaxInt64}})
	require.NoError(t, err, statement)
	defer res.Close()
	for b, err := res.Next(); b != nil; b, err = res.Next() {
		require.NoError(t, err)
	}
	took := res.Cost()
	return took.Estimate, float64(max(1, took.Units()))
}

// Over a graph with very uneven degrees, estimates of hops from random vertices are near what they take.
func TestEstimatesOfHops(t *testing.T) {
	e := New(stores["local"](t), Options{})
	skewed(t, e)
	settled(t, e)
	var more, less []float64
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, statement := range []string{
		"MATCH (p:P {k: $k}) RETURN p.k",
		"MATCH (p:P {g: $k % 50}) RETURN p.k",
		"MATCH (p:P {k: $k})-[:T]-(q) RETURN q.k",
		"MATCH (p:P {k: $k})-[:T]->(q) RETURN q.k",
		"MATCH (p:P {k: $k})<-[:T]-(q) RETURN q.k",
		"MATCH (p:P {k: $k})-[:T]-()-[:T]-(q) RETURN q.k",
		"MATCH (p:P {k: $k})-[:T]-()-[:T]-()-[:T]-(q) RETURN count(q)",
		"MATCH (p:P {k: $k})-[:T]-()-[:T]-(q) RETURN count(DISTINCT q)",
		"MATCH (p:P) RETURN p.g, count(*)",
		"MATCH (p:P)-[:T]->(q) WHERE p.k < q.k RETURN count(*)",
		"MATCH (p:P {k: $k}) RETURN COUNT { (p)-[:T]->() }",
		"MATCH (p:P) RETURN p.k ORDER BY p.k LIMIT 5",
		"MATCH (p:P {k: $k})-[:T]-(q) WITH collect(q) AS qs UNWIND qs AS q MATCH (q)-[:T]->(r) RETURN r.k",
	} {
		var own []float64
		for range 40 {
			estimate, actual := precisely(t, e, statement, map[string]graph.Value{"k": graph.IntValue(rnd.Int64N(2000))})
			more, less = append(more, actual/estimate), append(less, estimate/actual)
			own = append(own, actual/estimate)
		}
		slices.Sort(own)
		t.Logf("actual/estimate at the 10th, 50th and 90th percentile %.2f, %.2f, %.2f: %s", own[4], own[20], own[36], statement)
	}
	slices.Sort(more)
	slices.Sort(less)
	at := len(more) * 9 / 10
	t.Logf("p90 of actual/estimate %.2f, of estimate/actual %.2f", more[at], less[at])
	require.Less(t, more[at], 2.0)
	require.Less(t, less[at], 2.5)
}

// settled waits until the histograms of degrees have what was written.
func settled(t *testing.T, e *Engine) {
	g, err := e.store.Graph(DefaultGraph)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		tx, err := g.Begin(context.Background(), shard.Read)
		require.NoError(t, err)
		defer tx.Rollback()
		c, lists := tx.Statistics(), uint64(0)
		for _, n := range c.Degrees[graph.TypeDir{Type: "T", Dir: graph.Out}] {
			lists += n
		}
		return lists == 1999
	}, time.Minute, time.Millisecond)
}
