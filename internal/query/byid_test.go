package query

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// Statements that look up vertices and edges by id return the same as those that filter by id: # stands for nothing, or for a text
// that prevents the look-up.
func TestByID(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		must(t, e, "UNWIND range(1, 40) AS i CREATE (:N {i: i})")
		must(t, e, "MATCH (a:N), (b:N) WHERE b.i IN [a.i + 1, a.i * 2] CREATE (a)-[:R {w: a.i}]->(b)")
		must(t, e, "MATCH (a:N) WHERE a.i % 7 = 0 CREATE (a)-[:S]->(a)")
		list := func(statement string) graph.Value {
			res, err := e.Query(context.Background(), Request{Statement: statement})
			require.NoError(t, err)
			defer res.Close()
			b, err := res.Next()
			require.NoError(t, err)
			return b.Cols[0].Value(0).Clone()
		}
		odd := []graph.Value{{}, graph.IntValue(-3), graph.FloatValue(2), graph.StringValue("e0:1:1"), graph.BoolValue(true), graph.IntValue(1 << 50)}
		with := func(v graph.Value) graph.Value {
			l := append(slices.Clone(v.List()), odd...)
			return graph.ListValue(append(l, l[:len(l)/2]...))
		}
		params := map[string]graph.Value{
			"v":  with(list("MATCH (n:N) WHERE n.i % 3 = 0 RETURN collect(id(n))")),
			"ve": with(list("MATCH (n:N) WHERE n.i % 3 = 0 RETURN collect(elementId(n))")),
			"r":  with(list("MATCH ()-[r]->() WHERE endNode(r).i % 3 = 0 RETURN collect(id(r))")),
			"re": with(list("MATCH ()-[r]->() WHERE endNode(r).i % 3 = 0 RETURN collect(elementId(r))")),
		}
		params["one"] = params["r"].List()[0]
		params["onee"] = params["re"].List()[0]
		for _, s := range []string{
			"MATCH (n) WHERE id(n)# IN $v RETURN n",
			"MATCH (n:N) WHERE elementId(n)# IN $ve RETURN n",
			"MATCH (n:M) WHERE elementId(n)# IN $ve RETURN n",
			"UNWIND $v AS x MATCH (n) WHERE id(n)# = x RETURN x, n",
			"UNWIND $ve AS x OPTIONAL MATCH (n) WHERE elementId(n)# = x RETURN x, n",
			"MATCH ()-[r]->() WHERE id(r)# IN $r RETURN r",
			"MATCH ()-[r]-() WHERE id(r)# IN $r RETURN r",
			"MATCH ()-[r:S]-() WHERE elementId(r)# IN $re RETURN r",
			"MATCH (a)-[r:R]->(b:N {i: 6}) WHERE elementId(r)# IN $re RETURN a, b, r.w",
			"MATCH (a)<-[r:R|S]-(b) WHERE id(r)# IN $r AND a.i < b.i RETURN a, b",
			"MATCH ()-[r:Q]-() WHERE id(r)# IN $r RETURN r",
			"UNWIND $re AS x MATCH (a)-[r]-(b) WHERE elementId(r)# = x RETURN x, a, b",
			"UNWIND $r AS x OPTIONAL MATCH (a)-[r]->(b) WHERE id(r)# = x RETURN x, r",
			"MATCH (a)-[r]->(b) WHERE id(r)# = $one RETURN a, b",
			"MATCH (a)-[r]-(b) WHERE elementId(r)# = $onee RETURN a, b",
			"MATCH (a)-[r]->(b)-[s]->(c) WHERE elementId(r)# IN $re AND id(s)# IN $r RETURN a, b, c",
			"MATCH p = (a)-[r]->(b)-->(c) WHERE elementId(r)# IN $re RETURN p",
			"MATCH (n:N) WHERE n.i < 4 RETURN n.i, COUNT { MATCH (n)-[r]->() WHERE elementId(r)# IN $re }, EXISTS { MATCH ()-[r]->(n) WHERE id(r)# IN $r }",
			"MATCH (n:N {i: 3}) MATCH (m) WHERE id(m)# IN [id(n), id(n) + 1, null] RETURN m",
			"MATCH ()-[r]->() WHERE id(r)# IN null RETURN r",
			"MATCH (n) WHERE id(n)# = $v[0] OR id(n)# = $v[1] AND n.i > 4 OR null = id(n)# RETURN n",
			"MATCH ()-[r]-() WHERE elementId(r)# = $onee OR elementId(r)# = $re[1] RETURN r",
		} {
			test := func(run func(Request) ([]string, error)) {
				t.Helper()
				rows := func(by string) []string {
					s := regexp.MustCompile(`([ (]id\(\w\))#`).ReplaceAllString(s, "$1"+strings.ReplaceAll(by, "''", "0"))
					rows, err := run(Request{Statement: strings.ReplaceAll(s, "#", by), Params: params})
					require.NoError(t, err, s)
					slices.Sort(rows)
					return rows
				}
				require.Equal(t, rows(" + ''"), rows(""), s)
			}
			test(e.rows)
			// A transaction sees its own inserts and deletes.
			tx, err := e.Begin(context.Background(), TxOptions{})
			require.NoError(t, err)
			in := func(req Request) ([]string, error) { return rowsOf(tx.Run(context.Background(), req)) }
			_, err = in(Request{Statement: "MATCH (n:N)-[r]->() WHERE n.i % 2 = 0 DELETE r CREATE (n)-[:S]->(n), (n)-[:R]->(:N {i: 100})"})
			require.NoError(t, err)
			_, err = in(Request{Statement: "MATCH (n:N {i: 39}) DETACH DELETE n"})
			require.NoError(t, err)
			test(in)
			tx.Rollback()
		}
		// The plans look up.
		for _, s := range []string{"MATCH ()-[r]->() WHERE id(r) IN $r RETURN r", "MATCH (n) WHERE elementId(n) IN $ve RETURN n"} {
			res, err := e.Query(context.Background(), Request{Statement: "EXPLAIN " + s, Params: params})
			require.NoError(t, err)
			p := res.Summary().Plan
			for len(p.Children) > 0 && !strings.HasSuffix(p.Operator, "ByID") {
				p = p.Children[0]
			}
			require.Contains(t, p.Operator, "ByID")
			res.Close()
		}
		_, err := e.rows(Request{Statement: "MATCH (n) WHERE id(n) IN 5 RETURN n"})
		require.Error(t, err)
	})
}
