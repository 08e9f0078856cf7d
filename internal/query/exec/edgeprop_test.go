package exec_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// noEdgeLookups fails where the properties of edges are looked up one by one.
type noEdgeLookups struct{ shard.Tx }

func (noEdgeLookups) EdgeProperties(context.Context, []graph.Edge, []graph.PropID, [][]graph.Value) error {
	return errors.New("looked up")
}

func TestEdgePropertiesComeWithTheEdges(t *testing.T) {
	g := build(t, []string{`CREATE (a:P {n: 1})-[:R {w: 1}]->(b:P {n: 2})-[:R {w: 2}]->(a)`})
	for text, brought := range map[string]bool{
		`MATCH (a)-[r:R]->(b) WHERE r.w > 1 AND b.n < a.n + r.w RETURN r.w ORDER BY r.w`:    true,
		`MATCH (a)-[r]-(b) WITH *, r.w * 2 AS x WHERE r.w < 5 RETURN sum(r.w), count(r), x`: true,
		`MATCH (a) RETURN [(a)-[r]->(b) | r.w]`:                                             true,
		`MATCH (a)-[r]->(b) WITH collect(r) AS rs RETURN [r IN rs | r.w]`:                   false,
	} {
		q, _, err := cypher.Compile(text, cypher.Options{})
		require.NoError(t, err)
		tx, err := g.Begin(context.Background(), shard.Read)
		require.NoError(t, err)
		plan.Optimize(q, plan.Env{Counts: tx.Statistics()})
		p, err := exec.Compile(q, exec.Options{})
		require.NoError(t, err)
		rows, err := p.Run(context.Background(), g, noEdgeLookups{tx}, exec.Env{})
		require.NoError(t, err)
		_, err = rows.Next(context.Background())
		require.Equal(t, brought, err == nil, text)
		rows.Close()
		tx.Rollback()
	}
}
