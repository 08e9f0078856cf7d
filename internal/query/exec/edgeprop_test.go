package exec_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/plan/optimize"
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
		optimize.Plan(q, optimize.Env{Counts: tx.Statistics()})
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

// countedProps counts the properties of vertices that are requested.
type countedProps struct {
	shard.Tx
	n *int
}

func (c countedProps) Properties(ctx context.Context, ids []graph.VertexID, props []graph.PropID, out [][]graph.Value) error {
	*c.n += len(props)
	return c.Tx.Properties(ctx, ids, props, out)
}

// Operators above a filter reuse the properties that it has read, whether all rows pass or some, and however often they run.
func TestFiltersHandOnProperties(t *testing.T) {
	g := build(t, []string{`UNWIND range(1, 9) AS n CREATE (:P {n: n, m: -n})`})
	for text, want := range map[string][]int64{
		`MATCH (a) WHERE a.n > $least RETURN a.n`:                                       {6, 7, 8, 9},
		`MATCH (a) WHERE a.n > $least OR a.n = 1 WITH a WHERE a.n < 9 RETURN a.n + 0`:   {1, 6, 7, 8},
		`MATCH (a) WHERE a.n > $least WITH a, a.n * 2 AS x RETURN x ORDER BY x LIMIT 2`: {12, 14},
		`MATCH (a) WHERE a.n > $least RETURN sum(a.n)`:                                  {30},
	} {
		q, _, err := cypher.Compile(text, cypher.Options{})
		require.NoError(t, err)
		tx, err := g.Begin(context.Background(), shard.Read)
		require.NoError(t, err)
		optimize.Plan(q, optimize.Env{Counts: tx.Statistics()})
		p, err := exec.Compile(q, exec.Options{BatchSize: 4})
		require.NoError(t, err)
		for range 2 {
			asked := 0
			rows, err := p.Run(context.Background(), g, countedProps{tx, &asked}, exec.Env{Params: map[string]graph.Value{"least": graph.IntValue(5)}})
			require.NoError(t, err)
			var got []int64
			for b, err := rows.Next(context.Background()); b != nil; b, err = rows.Next(context.Background()) {
				require.NoError(t, err)
				for i := range b.N {
					got = append(got, b.Cols[0].Value(i).Int())
				}
			}
			require.Equal(t, want, got, text)
			require.LessOrEqual(t, asked, 3, text) // one a batch
			rows.Close()
		}
		tx.Rollback()
	}
}
