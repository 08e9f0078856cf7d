package query

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/cost"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/admission"
)

// took runs a statement and returns what it took.
func took(t *testing.T, e *Engine, statement string, params map[string]graph.Value) cost.Told {
	res, err := e.Query(context.Background(), Request{Statement: statement, Params: params})
	require.NoError(t, err, statement)
	defer res.Close()
	for b, err := res.Next(); b != nil; b, err = res.Next() {
		require.NoError(t, err)
	}
	return res.Cost()
}

// A request counts the vertices, edges and index entries that it reads, whatever its operators make of them.
func TestCost(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		must(t, e, "CREATE INDEX FOR (p:P) ON (p.k)")
		must(t, e, "UNWIND range(0, 9) AS i CREATE (:P {k: i}), (:Q)")
		must(t, e, "MATCH (a:P), (b:P) WHERE a.k < b.k CREATE (a)-[:T]->(b)") // vertex 0 has 9 edges, vertex 8 has one
		one := map[string]graph.Value{"k": graph.IntValue(0)}
		for _, c := range []struct {
			statement    string
			visits, rows int64
		}{
			{"RETURN 1", 0, 1},
			{"MATCH (n) RETURN count(*)", 0, 1},
			{"MATCH (p:P) RETURN p.k", 10, 10},
			{"MATCH (p:P) WHERE p.k + 0 < 3 RETURN p.k", 10, 3},
			{"MATCH (p:P {k: $k}) RETURN p", 1, 1},
			{"MATCH (p:P {k: $k + 77}) RETURN p", 1, 0},
			{"MATCH (p:P {k: $k})-[:T]->(q) RETURN q", 10, 9},
			{"MATCH (p:P {k: $k})-[:T]->(q) WHERE q.k = 3 RETURN q", 10, 1},
			{"MATCH (p:P {k: $k})-[:T]->()-[:T]->(q) RETURN q", 1 + 9 + 36, 36},
			{"MATCH (p:P {k: $k})-[:T*2..2]->(q) RETURN q", 1 + 9 + 36, 36},
			{"MATCH (p:P {k: $k}) RETURN COUNT { (p)-[:T]->() } AS n", 1 + 1, 1},
			{"MATCH (p:P) RETURN p.k % 2 AS k, count(*) AS n", 10, 2},
			{"MATCH (p:P {k: $k}) SET p.x = 1 RETURN p", 1 + 1, 1},
		} {
			got := took(t, e, c.statement, one)
			require.Equal(t, [2]int64{c.visits, c.rows}, [2]int64{got.Visits, got.Rows}, c.statement)
		}
		before := e.Metrics().Took[2].Visits.Load()
		var told cost.Told
		var out bytes.Buffer
		_, err := e.Fetch(context.Background(), FetchRequest{Method: "get", Body: []byte(`{"P[]": {"P": {"k": 3}}}`), Took: &told}, &out)
		require.NoError(t, err)
		require.Equal(t, [3]int64{1, 1, int64(out.Len())}, [3]int64{told.Visits, told.Rows, told.Bytes}, out.String())
		require.EqualValues(t, 1, e.Metrics().Took[2].Visits.Load()-before)
	})
}

// The slow log has what its requests took. A statement that writes alone counts its time, although it never yields, and one that waits its wait.
func TestCostOfWaits(t *testing.T) {
	e := New(stores["local"](t), Options{Admission: admission.Limits{Running: 1, Queue: 4}})
	must(t, e, "CREATE (:A)")
	first, err := e.Query(context.Background(), Request{Statement: "UNWIND range(1, 100000) AS i MERGE (n:A) RETURN count(*)"})
	require.NoError(t, err)
	require.Positive(t, first.Cost().CPU)
	ended := make(chan cost.Told)
	go func() {
		res, err := e.Query(context.Background(), Request{Statement: "RETURN 2"})
		if err != nil {
			panic(err)
		}
		defer res.Close()
		ended <- res.Cost()
	}()
	for e.Load().Queued == 0 {
		<-time.After(time.Millisecond)
	}
	first.Close()
	second := <-ended
	require.Positive(t, second.Queue)
	require.Zero(t, first.Cost().Queue)
	require.Eventually(t, func() bool {
		for _, s := range e.SlowLog().All() {
			if s.Statement == "RETURN 2" {
				return s.Took.Queue > 0
			}
		}
		return false
	}, time.Minute, time.Millisecond)
}
