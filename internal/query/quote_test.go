package query

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/explain"
	"github.com/hopgate/hopgate/internal/shard/restricted"
)

// quote returns what EXPLAIN quotes.
func quote(t *testing.T, e *Engine, statement string, params map[string]graph.Value) *explain.Quote {
	res, err := e.Query(t.Context(), Request{Statement: "EXPLAIN " + statement, Params: params})
	require.NoError(t, err, statement)
	defer res.Close()
	return res.Summary().Plan.Quote
}

// A quote follows from counters, the longest lists and the parameters; without a bound, it says which operator has none.
func TestQuote(t *testing.T) {
	e := New(stores["local"](t), Options{})
	skewed(t, e)
	settled(t, e)
	list := map[string]graph.Value{"ks": graph.ListValue([]graph.Value{graph.IntValue(1), graph.IntValue(2)}), "k": graph.IntValue(3)}
	for _, c := range []struct {
		statement string
		visits    int64
		reason    string
	}{
		{"RETURN 1", 0, ""},
		{"MATCH (n) RETURN count(*)", 0, ""},
		{"MATCH (p:P) RETURN p.k", 2000, ""},
		{"MATCH (p:P {k: $k}) RETURN p", 1, ""},
		{"MATCH (p:P) WHERE p.k IN $ks RETURN p", 2, ""},
		{"UNWIND $ks AS k MATCH (p:P {k: k}) RETURN p", 2, ""},
		{"UNWIND range(1, 9, 2) AS k MATCH (p:P {k: k}) RETURN p", 5, ""},
		{"UNWIND range(9, 1, -4) AS k MATCH (p:P {k: k}) RETURN p", 3, ""},
		{"MATCH (p:P {g: $k}) RETURN p", 2000, ""},
		{"MATCH (p:P {k: $k})-[:T]->(q) RETURN q", 1 + 3, ""},
		{"MATCH (p:P {k: $k})-[:T]->()-[:T]->(q) RETURN q", 1 + 3 + 9, ""},
		{"MATCH (p:P {k: $k})-[:T*1..2]->(q) RETURN q", 1 + 3 + 9, ""},
		{"MATCH (p:P)-[:T]->(q) RETURN p.k, q.k", 2000 + 5997, ""},
		{"MATCH (p:P {k: $k}) RETURN COUNT { (p)-[:T]->() } AS n", 1 + 3, ""},
		{"MATCH (p:P) WITH p LIMIT 2 MATCH (p)-[:T]->(q) RETURN q", 2000 + 6, ""},

		{"MATCH (p:P {k: $k})-[:T*]->(q) RETURN q", 0, "VarLengthExpand: the length has no upper bound"},
		{"MATCH (p:P {k: $k})-[:T*2..3]->(q) RETURN DISTINCT q", 0, "VarLengthExpandDistinct: it searches for trails to vertices that are nearer"},
		{"MATCH (p:P {k: $k}), (q:P {k: 4}), r = shortestPath((p)-[:T*]-(q)) RETURN r", 0, "ShortestPath: a search has no bound"},
		{"MATCH (a:P)-[:T]->(b:P)-[:T]->(c:P)-[:T]->(a) RETURN a.k, b.k, c.k", 0, "ExpandIntersect: the pattern has a cycle"},
		{"MATCH (p:P)-[:T]->(q:P) RETURN p.g, q.g, count(*)", 0, "EdgeGroupAggregation: how it reads depends on what it finds"},
		{"MATCH (p:P) WITH collect(p) AS ps UNWIND ps AS p RETURN p", 0, "Unwind: the list has an unknown length"},
		{"CALL db.labels() YIELD label RETURN label", 0, "ProcedureCall: a procedure has no bound"},
		{"LOAD CSV FROM 'file:///a.csv' AS row RETURN row", 0, "LoadCSV: a file has an unknown length"},
		{"CREATE (:P)", 0, "Create: a statement that writes has no bound"},
		{"MATCH (p:P {k: $k}) SET p.x = 1", 0, "Set: a statement that writes has no bound"},
		{"MATCH (p:P) RETURN vector.similarity.cosine([1.0], [p.k]) AS s", 0, "Projection: it compares vectors"},
		{"MATCH (p:P)-[r:T]->(q) WHERE ANY(x IN [1, 2] WHERE EXISTS { (q)-[:T]->(:P {k: x}) }) RETURN r", 0, "Filter: its condition reads the graph for each edge or element"},
		{"MATCH (a)-[:T*1..9]-(b) RETURN a, b", 0, "the bound exceeds 10^15"},
	} {
		got := quote(t, e, c.statement, list)
		require.Equal(t, explain.Quote{Visits: c.visits, Reason: c.reason}, *got, c.statement)
	}
	require.Equal(t, "Unwind: the list has an unknown length", quote(t, e, "UNWIND $other AS k RETURN k", nil).Reason)
	require.Nil(t, quote(t, e, "CREATE INDEX FOR (n:A) ON (n.k)", nil))

	tx := begin(t, e, TxOptions{})
	defer tx.Rollback()
	in := func() *explain.Quote {
		res, err := tx.Run(t.Context(), Request{Statement: "EXPLAIN MATCH (p:P) RETURN p.k"})
		require.NoError(t, err)
		defer res.Close()
		return res.Summary().Plan.Quote
	}
	require.Equal(t, explain.Quote{Visits: 2000}, *in())
	tx.must(t, "CREATE (:P)")
	require.Equal(t, explain.Quote{Reason: "the transaction has changed the graph"}, *in())
}

// Who sees a part of a graph gets no quote, since it tells of the rest.
func TestQuoteByRules(t *testing.T) {
	e := New(restricted.NewStore(stores["local"](t)), Options{})
	must(t, e, "CREATE (:Doc {tenant: 1})")
	must(t, e, "GRANT MATCH {*} ON HOME GRAPH FOR (d:Doc) WHERE d.tenant = 1 TO clerk")
	ctx := access.WithIdentity(t.Context(), &access.Identity{Name: "ann", Roles: []string{"clerk"}})
	res, err := e.Query(ctx, Request{Statement: "EXPLAIN MATCH (d:Doc) RETURN d"})
	require.NoError(t, err)
	defer res.Close()
	require.Equal(t, explain.Quote{Reason: "access rules hide a part of the graph"}, *res.Summary().Plan.Quote)
}

// Over a graph with very uneven degrees, and over operators that read sets in parallel, no statement takes more than its quote.
func TestQuotesOfHops(t *testing.T) {
	e := New(stores["local"](t), Options{})
	skewed(t, e)
	settled(t, e)
	rnd := rand.New(rand.NewPCG(5, 6))
	for _, statement := range []string{
		"MATCH (p:P {k: $k})-[:T]-(q) RETURN q.k",
		"MATCH (p:P {k: $k})<-[:T]-()-[:T]->(q) RETURN q.k",
		"MATCH (p:P {g: $k % 50})-[:T]->(q)-[:T]->(r) RETURN count(*)",
		"MATCH (p:P {k: $k})-[:T]-()-[:T]-(q) RETURN count(DISTINCT q)",
		"MATCH (p:P {g: $k % 50})-[:T]->()-[:T]->()<-[:T]-(q) RETURN count(DISTINCT q)",
		"MATCH (p:P {k: $k})-[:T*1..3]-(q) RETURN count(DISTINCT q)",
		"MATCH (p:P {k: $k})-[:T*1..3]->(q) RETURN DISTINCT q.k",
		"MATCH (p:P {k: $k})-[:T*0..2]-(q) RETURN q.k",
		"MATCH (p:P {k: $k})-[:T]-()-[:T]-()-[:T]-(q) RETURN count(*)",
		"MATCH (p:P)-[:T]-(q)-[:T]->(r), (q)<-[:T]-(s) RETURN count(*)",
		"MATCH (p:P {k: $k})-[:T]-(q) RETURN q.k, COUNT { (q)-[:T]->()-[:T]->() } AS n",
		"MATCH (p:P)-[:T]->(q)-[:T]->(r) RETURN p.g, count(*)",
		"MATCH (p:P)-[:T]->(q) WHERE (q)-[:T]->(:P {k: 0}) RETURN count(*)",
		"MATCH (p:P) RETURN p.g, count(*)",
		"MATCH (p:P), (q:P {k: $k}) WHERE p.g = q.g RETURN p.k",
		"MATCH (p:P {k: $k})-[:T]-(q) OPTIONAL MATCH (q)-[:T]->(r {g: 3}) RETURN q.k, r.k",
		"MATCH (p:P {g: $k % 50}) CALL (p) { MATCH (p)-[:T]->(q) RETURN q ORDER BY q.k LIMIT 2 } RETURN p.k, q.k",
		"MATCH (p:P {k: $k})-[:T]->(q) MATCH (r:P {g: q.g})-[:T]->(s) RETURN s.k",
		"MATCH (p:P {k: $k})-[:T]-(q), (p)-[:T]-(r) WHERE q.k < r.k AND NOT (q)-[:T]-(r) RETURN q.k, r.k",
	} {
		loosest := 0.0
		for range 20 {
			params := map[string]graph.Value{"k": graph.IntValue(rnd.Int64N(2000))}
			bound, visits := quote(t, e, statement, params), took(t, e, statement, params).Visits
			require.Empty(t, bound.Reason, statement)
			require.LessOrEqual(t, visits, bound.Visits, statement)
			loosest = math.Max(loosest, float64(bound.Visits)/float64(max(1, visits)))
		}
		t.Logf("at most %.0f times what it takes: %s", loosest, statement)
	}
}
