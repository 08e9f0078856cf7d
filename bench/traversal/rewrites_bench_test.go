package traversal

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/bench/network"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/plan/optimize"
	"github.com/hopgate/hopgate/internal/shard"
)

// BenchmarkRewrites runs each specialised count with and without its rule. Without it, the general shape answers: an aggregate over path
// multiplicities, or over the rows of the pattern.
func BenchmarkRewrites(b *testing.B) {
	n := network.Open(b, network.Persons(b))
	g, err := n.Store.Graph("default")
	require.NoError(b, err)
	for _, c := range []struct{ rule, name, statement string }{
		{"CountPushdown", "tree", "MATCH (a:Person)<-[:KNOWS]-(b)-[:KNOWS]->(c:Person) WHERE a.id < 1000 RETURN count(*)"},
		{"CountPushdown", "uniqueness", "MATCH (a)-[:KNOWS]->(b)-[:KNOWS]->(c) RETURN count(*)"},
		{"CountPushdown", "absence", "MATCH (a)-[:KNOWS]->(b)-[:KNOWS]->(c) WHERE a <> c AND NOT (a)-[:KNOWS]->(c) RETURN count(*)"},
		{"FrontierCount", "distinct2", "MATCH (p:Person {id: 1})-[:KNOWS]->()-[:KNOWS]->(q) RETURN count(DISTINCT q)"},
		{"FrontierCount", "distinct3", "MATCH (p:Person {id: 1})-[:KNOWS]->()-[:KNOWS]->()-[:KNOWS]->(q) RETURN count(DISTINCT q)"},
		{"CountStore", "label", "MATCH (p:Person) RETURN count(*)"},
		{"CountStore", "type", "MATCH ()-[:KNOWS]->() RETURN count(*)"},
		{"EdgeGroups", "genders", "MATCH (a:Person)-[:KNOWS]->(b:Person) WITH a.gender AS x, b.gender AS y, count(*) AS n RETURN max(n) AS most"},
		{"EdgeGroups", "names", "MATCH (a:Person)-[:KNOWS]->(b:Person) WITH DISTINCT a.firstName AS x, b.firstName AS y RETURN count(*) AS n"},
		{"BlockAggregate", "edges", "MATCH (:Person)-[k:KNOWS]->(:Person) RETURN max(k.creationDate) AS last, min(k.creationDate), count(k.creationDate)"},
		{"BlockAggregate", "mean", "MATCH (:Person)-[k:KNOWS]->(:Person) RETURN sum(k.creationDate) AS sum, avg(k.creationDate)"},
		{"BlockAggregate", "filter", "MATCH (:Person)-[k:KNOWS]->(:Person) WHERE k.creationDate >= 1320000000000 RETURN count(*)"},
		{"BlockAggregate", "groups", "MATCH (p:Person) WITH p.firstName AS name, count(*) AS n, avg(p.birthday) AS mean WHERE mean > 0 RETURN max(n) AS most"},
		{"BlockAggregate", "vertices", "MATCH (p:Person) RETURN max(p.birthday) AS last, min(p.birthday), count(p.birthday), sum(p.birthday)"},
	} {
		with, without := prepare(b, g, c.statement), prepare(b, g, c.statement, c.rule)
		require.Equal(b, without(b), with(b), c.statement)
		for name, run := range map[string]func(testing.TB) int64{"with": with, "without": without} {
			b.Run(c.rule+"/"+c.name+"/"+name, func(b *testing.B) {
				for b.Loop() {
					run(b)
				}
			})
		}
	}
}

// prepare plans a statement without some rules. It returns a function that runs the plan and returns the count.
func prepare(b testing.TB, g shard.Graph, statement string, disable ...string) func(testing.TB) int64 {
	ctx := context.Background()
	q, _, err := cypher.Compile(statement, cypher.Options{})
	require.NoError(b, err)
	tx, err := g.Begin(ctx, shard.Read)
	require.NoError(b, err)
	defer tx.Rollback()
	optimize.Plan(q, optimize.Env{Counts: tx.Statistics(), Indexes: g.Indexes(), Features: g.Features(), Disable: disable})
	p, err := exec.Compile(q, exec.Options{})
	require.NoError(b, err)
	return func(b testing.TB) int64 {
		tx, err := g.Begin(ctx, shard.Read)
		require.NoError(b, err)
		defer tx.Rollback()
		rows, err := p.Run(ctx, g, tx, exec.Env{Committed: true})
		require.NoError(b, err)
		defer rows.Close()
		out, err := rows.Next(ctx)
		require.NoError(b, err)
		require.Equal(b, graph.Int, out.Cols[0].Value(0).Kind())
		return out.Cols[0].Value(0).Int()
	}
}
