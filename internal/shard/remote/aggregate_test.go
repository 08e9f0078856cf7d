package remote_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/plan/optimize"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/shardtest"
)

// people makes a graph of n vertices with the label P and properties of several kinds, some labelled Q as well, and degree edges of each.
func people(t testing.TB, s shard.Store, n, degree int) shard.Graph {
	ctx := context.Background()
	g, err := s.Graph(local.DefaultGraph)
	require.NoError(t, err)
	tx, err := g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	props := map[string]graph.PropID{}
	for _, name := range []string{"i", "s", "t", "f", "one", "mixed", "large", "w"} {
		props[name], err = tx.Prop(name)
		require.NoError(t, err)
	}
	p, err := tx.Label("P")
	require.NoError(t, err)
	q, err := tx.Label("Q")
	require.NoError(t, err)
	knows, err := tx.Type("K")
	require.NoError(t, err)
	one, err := tx.LabelSet([]graph.LabelID{p})
	require.NoError(t, err)
	both, err := tx.LabelSet([]graph.LabelID{p, q})
	require.NoError(t, err)
	vertices := make([]shard.Mutation, n)
	for i := range vertices {
		m := &vertices[i]
		*m = shard.Mutation{Op: shard.CreateVertex, Labels: one}
		if i%3 == 0 {
			m.Labels = both
		}
		add := func(name string, v graph.Value) {
			m.Props = append(m.Props, graph.Property{ID: props[name], Value: v})
		}
		add("i", graph.IntValue(int64(i)))
		add("s", graph.StringValue(fmt.Sprint("name ", i*7%60)))
		if i%5 > 0 {
			add("t", graph.IntValue(int64(i%4)))
		}
		add("f", graph.FloatValue(float64(i)/7))
		if i == n/2 {
			add("one", graph.FloatValue(0.1))
		}
		if i%2 == 0 {
			add("mixed", graph.IntValue(int64(i%3)))
		} else {
			add("mixed", graph.FloatValue(float64(i%3)))
		}
		add("large", graph.IntValue(1<<62+int64(i)))
	}
	require.NoError(t, tx.Apply(ctx, vertices))
	rng := rand.New(rand.NewPCG(1, 1))
	var edges []shard.Mutation
	for i := range vertices {
		for range degree {
			edges = append(edges, shard.Mutation{
				Op: shard.CreateEdge, Edge: graph.Edge{Src: vertices[i].Vertex, Dst: vertices[rng.IntN(n)].Vertex, Type: knows},
				Props: []graph.Property{{ID: props["w"], Value: graph.IntValue(rng.Int64N(1000))}},
			})
		}
	}
	require.NoError(t, tx.Apply(ctx, edges))
	require.NoError(t, tx.Commit(ctx))
	return g
}

// answer runs a statement without some rules, over the present state. direct reports whether the shards have added up.
func answer(t testing.TB, g shard.Graph, statement string, disable ...string) (rows []string, direct bool) {
	for {
		rows, direct, err := answerOnce(t, g, statement, disable)
		if err == nil {
			return rows, direct
		}
		if !shard.Retriable(err) {
			return []string{graph.AsError(err).Type}, false
		}
	}
}

func answerOnce(t testing.TB, g shard.Graph, statement string, disable []string) (rows []string, direct bool, _ error) {
	ctx := context.Background()
	q, _, err := cypher.Compile(statement, cypher.Options{})
	require.NoError(t, err)
	tx, err := g.Begin(ctx, shard.Read)
	require.NoError(t, err)
	defer tx.Rollback()
	optimize.Plan(q, optimize.Env{Counts: tx.Statistics(), Indexes: g.Indexes(), Features: g.Features(), Disable: disable})
	p, err := exec.Compile(q, exec.Options{})
	require.NoError(t, err)
	out, err := p.Run(ctx, g, tx, exec.Env{Committed: true})
	require.NoError(t, err)
	defer out.Close()
	for {
		b, err := out.Next(ctx)
		if err != nil {
			return nil, false, err
		}
		if b == nil {
			break
		}
		for i := range b.N {
			var row []string
			for k := range b.Cols {
				row = append(row, shardtest.Text(b.Cols[k].Value(i)))
			}
			rows = append(rows, strings.Join(row, ", "))
		}
	}
	var find func(o *exec.Operator)
	find = func(o *exec.Operator) {
		if (strings.HasSuffix(o.Name, "BlockAggregation") || o.Name == "EdgeGroupAggregation") && out.Stats()[o.Inputs[0].ID].Rows == 0 {
			direct = true
		}
		for _, in := range o.Inputs {
			find(in)
		}
	}
	find(p.Explain())
	return rows, direct, nil
}

// TestAggregates compares what three processes add up for a gateway with what it makes of their rows, bit by bit and in order, but for
// counts of edges, which come in no order.
func TestAggregates(t *testing.T) {
	g := people(t, served(t, 3)(), 3000, 3)
	for _, c := range []struct {
		statement string
		direct    bool
	}{
		{"MATCH (a:P) RETURN a.s AS s, count(*) AS n, sum(a.i) AS sum, min(a.i) AS lo, max(a.i) AS hi, avg(a.i) AS mean, count(a.t) AS m", true},
		{"MATCH (a:P) WHERE a.i > 100 AND a.t <= 2 RETURN a.s AS s, a.t AS t, count(a.t) AS n, min(a.t) AS lo, sum(a.i) AS sum", true},
		{"MATCH (a:Q) RETURN a.t AS t, max(a.s) AS last, min(a.f) AS lo, count(a) AS n", true},
		{"MATCH (a) RETURN a.t AS t, count(*) AS n", true},
		{"MATCH (a:Q) RETURN sum(a.i) AS sum, avg(a.t) AS mean, min(a.s) AS first, count(*) AS n", true},
		{"MATCH (a:P) WHERE a.i < 0 RETURN a.s AS s, sum(a.i) AS sum", true},
		{"MATCH (a:P) WHERE a.i < 0 RETURN sum(a.i) AS sum, avg(a.i) AS mean, min(a.i) AS lo, count(a.i) AS n", true},
		{"MATCH (a:P) RETURN a.mixed AS k, count(*) AS n", true},
		{"MATCH (a:P) RETURN sum(a.one) AS sum, avg(a.one) AS mean", true},
		{"MATCH (a:P) RETURN sum(a.f) AS sum", false},
		{"MATCH (a:P) RETURN a.s AS s, avg(a.f) AS mean", false},
		{"MATCH (a:P) RETURN sum(a.large) AS sum", false},
		{"MATCH (a:P) RETURN sum(a.s) AS sum", false},
		{"MATCH (a:P) RETURN max(a.mixed) AS hi", false},
		{"MATCH (a:P) RETURN a.i AS i, count(*) AS n", true}, // so few that none is too many
		{"MATCH (:P)-[r:K]->(:P) RETURN min(r.w) AS lo, max(r.w) AS hi, count(r.w) AS n, sum(r.w) AS sum, avg(r.w) AS mean", true},
		{"MATCH ()<-[r:K]-() WHERE r.w >= 500 RETURN count(*) AS n, sum(r.w) AS sum", true},
		{"MATCH (a:P)-[:K]->(b:P) RETURN a.t AS x, b.t AS y, count(*) AS n", true},
		{"MATCH (a:P)<-[:K]-(b) RETURN a.s AS x, b.t AS y, count(*) AS n", true},
		{"MATCH (a:P)-[:K]->(b:P) WITH DISTINCT a.s AS x, b.s AS y RETURN count(*) AS n", true},
	} {
		want, _ := answer(t, g, c.statement, "BlockAggregate", "EdgeGroups")
		got, direct := answer(t, g, c.statement)
		if strings.Contains(c.statement, " AS y") {
			slices.Sort(want)
			slices.Sort(got)
		}
		require.Equal(t, want, got, c.statement)
		require.Equal(t, c.direct, direct, c.statement)
	}
}

// BenchmarkAggregates groups in one process, and through a gateway to three processes, all in this process.
func BenchmarkAggregates(b *testing.B) {
	const n, degree = 60_000, 8
	s, err := local.Open(local.Options{Dir: "data", FS: vfs.NewMem(), Shards: 3})
	require.NoError(b, err)
	defer s.Close()
	graphs := map[string]shard.Graph{"process": people(b, s, n, degree), "gateway": people(b, served(b, 3)(), n, degree)}
	for name, statement := range map[string]string{
		"vertices":  "MATCH (a:P) RETURN a.s AS s, count(*) AS n, avg(a.i) AS mean",
		"edges":     "MATCH (:P)-[r:K]->(:P) WHERE r.w >= 500 RETURN count(*) AS n, max(r.w) AS hi",
		"edgeEnds":  "MATCH (a:P)-[:K]->(b:P) RETURN a.s AS x, b.s AS y, count(*) AS n",
		"edgeTotal": "MATCH (:P)-[r:K]->(:P) RETURN min(r.w) AS lo, avg(r.w) AS mean",
	} {
		for _, where := range []string{"process", "gateway"} {
			for _, rows := range []bool{false, true} {
				var disable []string
				kind := "groups"
				if rows {
					disable, kind = []string{"BlockAggregate", "EdgeGroups"}, "rows"
				}
				b.Run(fmt.Sprintf("%s/%s/%s", name, where, kind), func(b *testing.B) {
					before := processorTime(b)
					for b.Loop() {
						out, direct := answer(b, graphs[where], statement, disable...)
						require.Equal(b, !rows, direct, "%v", out[:1])
					}
					b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
				})
			}
		}
	}
}
