package query

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// kept are statements whose operators serve several runs, each beside an equivalent statement with operators of its own.
var kept = [][2]string{
	{"MATCH (p:P {id: $id}) RETURN p.name, p.text, p.none, $id AS id", "MATCH (p:P {id: $id}) RETURN coalesce(p.name), coalesce(p.text), coalesce(p.none), $id AS id"},
	{"MATCH (p:P {id: $id}) RETURN p, p.name", "MATCH (p:P {id: $id}) RETURN p, coalesce(p.name)"},
	{
		"MATCH (p:P {id: $id})-[r:R]->(q:Q) RETURN q.name, r, p, p.text",
		"MATCH (p:P {id: $id})-[r:R]->(q:Q) RETURN coalesce(q.name), r, p, coalesce(p.text)",
	},
	{
		"MATCH (p:P {id: $id})-[r:R]->(q) WHERE q.name > p.name OR NOT q.id <= 7 RETURN q.name, q.text, r SKIP 1 LIMIT 4",
		"MATCH (p:P {id: $id})-[r:R]->(q) WHERE coalesce(q.name) > p.name OR NOT coalesce(q.id) <= 7 RETURN q.name, q.text, r SKIP 1 LIMIT 4",
	},
	{
		"MATCH (p:P {id: $id}) WHERE p.none IS NULL AND p.name >= 'name 2' RETURN p.name, p SKIP $id - $id LIMIT 1",
		"MATCH (p:P {id: $id}) WHERE coalesce(p.none) IS NULL AND p.name >= 'name 2' RETURN coalesce(p.name), p",
	},
	{
		"MATCH (p:P {id: $id})-[r]-(a)-[:R]->(q) RETURN a.text, id(r), q.name, q.id",
		"MATCH (p:P {id: $id})-[r]-(a)-[:R]->(q) RETURN coalesce(a.text), id(r), coalesce(q.name), q.id",
	},
	{"MATCH (p:P {id: $id})-[:R]->(q) RETURN count(DISTINCT q) AS n", "MATCH (p:P {id: $id})-[:R]->(q) WITH DISTINCT q RETURN count(*) AS n"},
	{"MATCH (p:P {id: $id})-[:R]->(q:Q) RETURN count(DISTINCT q) AS n", "MATCH (p:P {id: $id})-[:R]->(q:Q) WITH DISTINCT q RETURN count(*) AS n"},
	{
		"MATCH (p:P {id: $id})-[:R]->(a)-[:R]->(q) RETURN count(DISTINCT q) AS n, $id AS id",
		"MATCH (p:P {id: $id})-[:R]->(a)-[:R]->(q) WITH DISTINCT q RETURN count(*) AS n, $id AS id",
	},
	{"MATCH (p:P {id: $id})-[:R*1..3]->(q) RETURN count(DISTINCT q) AS n", "MATCH (p:P {id: $id})-[:R*1..3]->(q) WITH DISTINCT q RETURN count(*) AS n"},
	{"MATCH (p:P {id: $id})-[:R*2]->(q) RETURN count(DISTINCT q) AS n", "MATCH (p:P {id: $id})-[:R*2]->(q) WITH DISTINCT q RETURN count(*) AS n"},
	{
		"MATCH (p:P {id: $id})-[r:R]->(a)-[s:R]->(q) WHERE r.w > $w AND 3 >= s.w AND s.w >= 1 RETURN count(DISTINCT q) AS n",
		"MATCH (p:P {id: $id})-[r:R]->(a)-[s:R]->(q) WHERE coalesce(r.w) > $w AND 3 >= coalesce(s.w) >= 1 WITH DISTINCT q RETURN count(*) AS n",
	},
	{
		"MATCH (p:P {id: $id})-[r:R]->(q) WHERE r.w = $w RETURN count(DISTINCT q) AS n",
		"MATCH (p:P {id: $id})-[r:R]->(q) WHERE coalesce(r.w) = $w WITH DISTINCT q RETURN count(*) AS n",
	},
	{
		"MATCH (p:P {id: $id})-[r:R*1..3 {w: $w}]->(q) RETURN count(DISTINCT q) AS n",
		"MATCH (p:P {id: $id})-[r:R*1..3]->(q) WHERE all(x IN r WHERE coalesce(x.w) = $w) WITH DISTINCT q RETURN count(*) AS n",
	},
	{"MATCH (p:P {id: $id})-[:S]->(q) RETURN count(DISTINCT q) AS n", "MATCH (p:P {id: $id})-[:S]->(q) WITH DISTINCT q RETURN count(*) AS n"},
}

// bounds are values that properties of edges are compared with; the first ones are for the shards to test.
var bounds = []graph.Value{
	graph.IntValue(1), graph.IntValue(2), graph.FloatValue(1.5), graph.FloatValue(2), graph.IntValue(100), graph.StringValue("2"),
	{},
	graph.FloatValue(math.NaN()),
}

// Runs that reuse operators return the same as runs with new ones: concurrently, after abandoned runs, and when the graph gains
// labels and types in between.
func TestOperatorsServeRunAfterRun(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		const people = 60
		must(t, e, "CREATE CONSTRAINT FOR (p:P) REQUIRE p.id IS UNIQUE")
		must(t, e, fmt.Sprintf("UNWIND range(0, %d) AS i CREATE (:P:Q {id: i, name: 'name ' + i, text: reduce(s = '', x IN range(0, i * 40) | s + 'text ')})", people-1))
		must(t, e, fmt.Sprintf("MATCH (a:P), (b:P) WHERE (a.id * 7 + b.id * 3) %% 11 = 0 AND a.id < %d CREATE (a)-[:R {w: CASE b.id %% 7 WHEN 5 THEN '2' WHEN 6 THEN 1.5 WHEN 4 THEN null ELSE b.id %% 7 END}]->(b)", people/2))
		check := func() {
			var wg sync.WaitGroup
			for worker := range 4 {
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(uint64(worker), 1))
					for range 100 {
						pair := kept[rng.IntN(len(kept))]
						params := map[string]graph.Value{"id": graph.IntValue(rng.Int64N(people + 5)), "w": bounds[rng.IntN(len(bounds))]}
						if rng.IntN(8) == 0 {
							leave(t, e, Request{Statement: pair[0], Params: params}, rng)
							continue
						}
						got, err := e.rows(Request{Statement: pair[0], Params: params})
						assert.NoError(t, err)
						want, err := e.rows(Request{Statement: pair[1], Params: params})
						assert.NoError(t, err)
						if params["id"].Int() < people || len(want) > 0 {
							assert.Equal(t, want, got, pair[0])
						}
					}
				})
			}
			wg.Wait()
		}
		check()
		must(t, e, "MATCH (p:P) WHERE p.id % 3 = 0 CREATE (p)-[:R]->(:Other)")
		check()
		must(t, e, "MATCH (a:P), (b:P) WHERE b.id = a.id + 1 CREATE (a)-[:S]->(b)")
		must(t, e, "MATCH (p:P) WHERE p.id % 2 = 0 SET p.name = p.id * 1.5, p.text = left(p.text, 100), p.none = [p.name] REMOVE p:Q")
		check()
		_, err := e.rows(Request{Statement: kept[0][0]})
		require.Equal(t, "Neo.ClientError.Statement.ParameterMissing", code(err))
	})
}

// leave begins a statement and does not read it to its end, or has it cancelled.
func leave(t *testing.T, e *Engine, req Request, rng *rand.Rand) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	res, err := e.Query(ctx, req)
	if !assert.NoError(t, err) {
		return
	}
	defer res.Close()
	if rng.IntN(2) == 0 {
		cancel()
	}
	if rng.IntN(2) == 0 {
		_, _ = res.Next()
	}
}
