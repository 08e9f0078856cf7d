package exec_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/plan/optimize"
	"github.com/hopgate/hopgate/internal/shard"
)

// asking records the prefetches of a look-up and the requests after it.
type asking struct {
	shard.Tx
	prefetched, asked []string
}

func asks(req *shard.Expand) string {
	if req == nil {
		return "nothing"
	}
	into := req.Into != nil
	most := req.MaxEdges
	if into {
		most = 0 // ignored
	}
	return fmt.Sprint(req.Types, req.Dir, req.Edges, req.Props, req.Where, most, into)
}

func (t *asking) Seek(ctx context.Context, req *shard.Seek, res *shard.Found) error {
	t.prefetched, t.asked = nil, nil
	for _, hop := range append(slices.Clone(req.Then), nil, nil)[:2] {
		t.prefetched = append(t.prefetched, asks(hop))
	}
	return t.Tx.Seek(ctx, req, res)
}

func (t *asking) Expand(ctx context.Context, req *shard.Expand, res *shard.Neighbours) error {
	t.asked = append(t.asked, asks(req))
	return t.Tx.Expand(ctx, req, res)
}

func (t *asking) Step(ctx context.Context, from *graph.VertexSet, types []graph.TypeID, dir graph.Direction, out *graph.VertexSet) error {
	t.asked = append(t.asked, asks(&shard.Expand{Types: types, Dir: dir, Into: out}))
	return t.Tx.Step(ctx, from, types, dir, out)
}

// The look-up of a key prefetches the requests of its first two hops, of whatever kind.
func TestSeekPrefetchesTwoHops(t *testing.T) {
	g := build(t, []string{
		`CREATE (a:P {n: 0}) WITH a UNWIND range(1, 20) AS i CREATE (a)-[:R {w: 5}]->(b:P {n: i})-[:R {w: i % 7}]->(:P {n: 100 + i})-[:R]->(:P {n: 200 + i})`,
		`MATCH (a:P {n: 7}) CREATE (a)-[:S]->(:P {n: 300}), (a)-[:S]->(:Q {n: 301})`,
	})
	ctx := context.Background()
	require.NoError(t, g.CreateIndex(ctx, graph.Index{Name: "n", Label: "P", Props: []string{"n"}, Unique: true, Indexed: true}))
	for text, hops := range map[string]int{
		`MATCH (p:P {n: 0})-[:R]->()-[:R]->(q) RETURN count(DISTINCT q)`:                               2,
		`MATCH (p:P {n: 0})-[:R]->(:P)-[:R]->(:P)-[:R]->(q) RETURN count(DISTINCT q)`:                  2,
		`MATCH (p:P {n: 0})-[r:R]->()-[s:R]->(q) WHERE r.w > 3 AND s.w > 3 RETURN count(DISTINCT q)`:   2,
		`MATCH (p:P {n: 0})-[:R*1..2]->(q) RETURN count(DISTINCT q)`:                                   2,
		`MATCH (p:P {n: 0})-[:R*1..3]->(q) RETURN count(DISTINCT q)`:                                   2,
		`MATCH (p:P {n: 0})-[:R*1..3]->(q) WITH DISTINCT q RETURN q.n`:                                 2,
		`MATCH (p:P {n: 0})-[:R]->()-[:R]->(q) RETURN q.n`:                                             2,
		`MATCH (p:P {n: 0})-[r:R]->()-[s:R]->(q) WHERE s.w > 3 RETURN r.w, s.w, q.n`:                   2,
		`MATCH (p:P {n: 0})-[:R]->(q) RETURN count(DISTINCT q)`:                                        1,
		`MATCH (p:P {n: 7})-[:S]->(:P)-[:R]->(q) RETURN q.n`:                                           1,
		`MATCH (p:P {n: 0})-[:R]->(m) WITH m ORDER BY m.n DESC LIMIT 3 MATCH (m)-[:R]->(q) RETURN q.n`: 1,
		`MATCH (p:P {n: 0})-[:R]->(m) RETURN m.n, [(m)-[:R]->(q) | q.n]`:                               1,
	} {
		q, _, err := cypher.Compile(text, cypher.Options{})
		require.NoError(t, err)
		tx, err := g.Begin(ctx, shard.Read)
		require.NoError(t, err)
		optimize.Plan(q, optimize.Env{Counts: tx.Statistics(), Indexes: g.Indexes(), Features: g.Features()})
		p, err := exec.Compile(q, exec.Options{})
		require.NoError(t, err)
		a := &asking{Tx: tx}
		rows, err := p.Run(ctx, g, a, exec.Env{})
		require.NoError(t, err)
		for more := true; more; {
			b, err := rows.Next(ctx)
			require.NoError(t, err)
			more = b != nil
		}
		rows.Close()
		tx.Rollback()
		require.Equal(t, hops, 2-len(a.prefetched)+slices.IndexFunc(append(a.prefetched, "nothing"), func(s string) bool { return s == "nothing" }), text)
		require.Equal(t, a.prefetched[:hops], a.asked[:hops], text)
	}
}
