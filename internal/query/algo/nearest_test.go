package algo_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
)

// property makes a vector of small integers and, sometimes, what is none. The sums over it are exact.
func property(r *rand.Rand) graph.Value {
	switch r.IntN(12) {
	case 0:
		return graph.Value{}
	case 1:
		return graph.StringValue("no vector")
	case 2:
		return graph.ListValue([]graph.Value{graph.IntValue(1), graph.IntValue(2)})
	case 3:
		return graph.ListValue([]graph.Value{graph.StringValue("a"), graph.StringValue("b"), graph.StringValue("c"), graph.StringValue("d")})
	}
	list := make([]graph.Value, 4)
	floats := r.IntN(2) == 0
	for i := range list {
		if list[i] = graph.IntValue(int64(r.IntN(7) - 3)); floats {
			list[i] = graph.FloatValue(list[i].Number())
		}
	}
	return graph.ListValue(list)
}

// scored is a row that a search should give: the number of a vertex or an edge, in the order of ids, and its score.
type scored struct {
	number int
	score  float64
}

// rank computes the k best by the definition of the similarities.
func rank(by graph.Similarity, vectors []graph.Value, query []graph.Value, k int) []scored {
	var all []scored
	for i, v := range vectors {
		if v.Kind() != graph.List || len(v.List()) != len(query) || !v.List()[0].IsNumber() {
			continue
		}
		var dot, aa, bb, square float64
		for j, y := range v.List() {
			x, y := query[j].Number(), y.Number()
			dot, aa, bb, square = dot+x*y, aa+x*x, bb+y*y, square+(x-y)*(x-y)
		}
		score := 1 / (1 + square)
		if by == graph.Cosine {
			if bb == 0 {
				continue
			}
			score = max((1+dot/math.Sqrt(aa)/math.Sqrt(bb))/2, 0)
		}
		all = append(all, scored{i, float64(float32(score))})
	}
	slices.SortFunc(all, func(a, b scored) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.number, b.number)) })
	return all[:min(k, len(all))]
}

// numbersOf gives the numbers n of vertices or edges in the order of their ids.
func numbersOf(t *testing.T, e *query.Engine, pattern string) []int64 {
	var out []int64
	for _, row := range mustRun(t, e, "MATCH "+pattern+" RETURN x.n ORDER BY id(x)", nil) {
		out = append(out, row[0].Int())
	}
	return out
}

// TestNearest compares searches with the definition, over more vertices than a window holds and several shards, on several
// cores.
func TestNearest(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const n, m = 20_000, 3000
	vertices, edges := make([]graph.Value, n), make([]graph.Value, m)
	nodes, ties := make([]graph.Value, n), make([]graph.Value, m)
	for i := range vertices {
		vertices[i] = property(r)
		nodes[i] = graph.ListValue([]graph.Value{graph.IntValue(int64(i)), vertices[i]})
	}
	for i := range edges {
		edges[i] = property(r)
		ties[i] = graph.ListValue([]graph.Value{graph.IntValue(int64(i)), edges[i], graph.IntValue(int64(r.IntN(n))), graph.IntValue(int64(r.IntN(n)))})
	}
	e := query.New(onDisk(t, 3), query.Options{})
	mustRun(t, e, "CREATE INDEX FOR (d:Doc) ON (d.n)", nil)
	mustRun(t, e, "UNWIND $rows AS r CREATE (:Doc {n: r[0], v: r[1]}), (:Other {v: [1, 2, 3, 3]})", map[string]graph.Value{"rows": graph.ListValue(nodes)})
	mustRun(t, e, "UNWIND $rows AS r MATCH (a:Doc {n: r[2]}), (b:Doc {n: r[3]}) CREATE (a)-[:TIE {n: r[0], v: r[1]}]->(b), (b)-[:OTHER {v: [1, 2, 3, 3]}]->(a)",
		map[string]graph.Value{"rows": graph.ListValue(ties)})
	order := map[string][]int64{"Nodes": numbersOf(t, e, "(x:Doc)"), "Relationships": numbersOf(t, e, "()-[x:TIE]->()")}
	for _, by := range []graph.Similarity{graph.Cosine, graph.Euclidean} {
		mustRun(t, e, fmt.Sprintf("CREATE VECTOR INDEX docs FOR (d:Doc) ON d.v OPTIONS {indexConfig: {`vector.dimensions`: 4, `vector.similarity_function`: '%s'}}", by), nil)
		mustRun(t, e, fmt.Sprintf("CREATE VECTOR INDEX ties FOR ()-[r:TIE]-() ON r.v OPTIONS {indexConfig: {`vector.similarity_function`: '%s'}}", by), nil)
		for _, k := range []int{1, 10, 1000, 1 << 40} {
			for kind, index := range map[string]string{"Nodes": "docs", "Relationships": "ties"} {
				all := vertices
				if kind == "Relationships" {
					all = edges
				}
				inOrder := make([]graph.Value, len(all))
				for i, number := range order[kind] {
					inOrder[i] = all[number]
				}
				q := []graph.Value{graph.IntValue(2), graph.FloatValue(-1), graph.IntValue(int64(r.IntN(5))), graph.IntValue(3)}
				rows := mustRun(t, e, "CALL db.index.vector.query"+kind+"($index, $k, $q) YIELD score, "+map[string]string{"Nodes": "node", "Relationships": "relationship"}[kind]+
					" AS x RETURN x.n, score", map[string]graph.Value{"index": graph.StringValue(index), "k": graph.IntValue(int64(k)), "q": graph.ListValue(q)})
				want := rank(by, inOrder, q, k)
				require.Len(t, rows, len(want))
				for i, w := range want {
					require.Equal(t, []any{order[kind][w.number], w.score}, []any{rows[i][0].Int(), rows[i][1].Float()}, "%s of %s, row %d of %d", by, kind, i, k)
				}
			}
		}
		mustRun(t, e, "DROP INDEX docs", nil)
		mustRun(t, e, "DROP INDEX ties", nil)
	}
}

// integers are those of a list.
func integers(v graph.Value) []int64 {
	var out []int64
	for _, x := range v.List() {
		out = append(out, x.Int())
	}
	return out
}

// TestNearestOwnWrites finds what the transaction has written, within a statement as well, and not what others have not committed.
func TestNearestOwnWrites(t *testing.T) {
	for _, e := range []*query.Engine{query.New(inMemory(t), query.Options{}), query.New(onDisk(t, 2), query.Options{})} {
		mustRun(t, e, "CREATE VECTOR INDEX docs FOR (d:Doc) ON d.v OPTIONS {indexConfig: {`vector.dimensions`: 2}}", nil)
		mustRun(t, e, "CREATE (:Doc {n: 1, v: [1, 0]}), (:Doc {n: 2, v: [1, 1]}), (:Doc {n: 3, v: [0, 1]})", nil)
		const search = "CALL db.index.vector.queryNodes('docs', 2, [1, 0]) YIELD node, score RETURN collect(node.n)"
		tx, err := e.Begin(t.Context(), query.TxOptions{})
		require.NoError(t, err)
		within := func(text string) []int64 {
			res, err := tx.Run(t.Context(), query.Request{Statement: text})
			require.NoError(t, err)
			defer res.Close()
			b, err := res.Next()
			require.NoError(t, err)
			return integers(b.Cols[0].Value(0))
		}
		require.Equal(t, []int64{1, 2}, within(search))
		require.Equal(t, []int64{1}, within("MATCH (d:Doc {n: 3}) CALL db.create.setNodeVectorProperty(d, 'v', [5, 1]) RETURN [count(*)]"))
		require.Equal(t, []int64{1, 3}, within(search))
		require.Equal(t, []int64{1, 4}, within("CREATE (:Doc {n: 4, v: [3, 0.3]}) WITH 1 AS one CALL db.index.vector.queryNodes('docs', 2, [1, 0]) YIELD node RETURN collect(node.n)"))
		require.Equal(t, []int64{1, 2}, integers(mustRun(t, e, search, nil)[0][0]))
		require.Equal(t, []int64{1}, within("MATCH (d:Doc {n: 1}) DELETE d RETURN [count(*)]"))
		require.NoError(t, tx.Commit(t.Context()))
		require.Equal(t, []int64{4, 3}, integers(mustRun(t, e, search, nil)[0][0]))
	}
}

// TestNearestOwnEdges does the same with relationships: among few, and among many whose vectors are packed.
func TestNearestOwnEdges(t *testing.T) {
	for _, e := range []*query.Engine{query.New(inMemory(t), query.Options{}), query.New(onDisk(t, 2), query.Options{})} {
		mustRun(t, e, "CREATE VECTOR INDEX ties FOR ()-[r:TIE]-() ON r.v OPTIONS {indexConfig: {`vector.dimensions`: 2}}", nil)
		mustRun(t, e, "CREATE (a:Doc {n: 1}), (b:Doc {n: 2}), (a)-[:TIE {n: 1, v: [1, 0]}]->(b), (b)-[:TIE {n: 2, v: [1, 1]}]->(a), (a)-[:TIE {n: 3, v: [0, 1]}]->(a)", nil)
		mustRun(t, e, "UNWIND range(1, 500) AS i CREATE (:Doc)-[:TIE {n: 1000 + i, v: [-i, 1]}]->(:Doc)", nil)
		const search = "CALL db.index.vector.queryRelationships('ties', 2, [1, 0]) YIELD relationship AS r RETURN collect(r.n)"
		before := integers(mustRun(t, e, search, nil)[0][0])
		require.Equal(t, []int64{1, 2}, before)
		tx, err := e.Begin(t.Context(), query.TxOptions{})
		require.NoError(t, err)
		within := func(text string) []int64 {
			res, err := tx.Run(t.Context(), query.Request{Statement: text})
			require.NoError(t, err)
			defer res.Close()
			b, err := res.Next()
			require.NoError(t, err)
			return integers(b.Cols[0].Value(0))
		}
		require.Equal(t, []int64{1, 2}, within(search))
		require.Equal(t, []int64{1}, within("MATCH ()-[r:TIE {n: 3}]->() CALL db.create.setRelationshipVectorProperty(r, 'v', [5, 1]) RETURN [count(*)]"))
		require.Equal(t, []int64{1, 3}, within(search))
		require.Equal(t, []int64{1, 4}, within("MATCH (a:Doc {n: 1}) CREATE (a)-[:TIE {n: 4, v: [3, 0.3]}]->(:Doc) WITH 1 AS one CALL db.index.vector.queryRelationships('ties', 2, [1, 0]) YIELD relationship AS r RETURN collect(r.n)"))
		require.Equal(t, before, integers(mustRun(t, e, search, nil)[0][0]))
		require.Equal(t, []int64{1}, within("MATCH ()-[r:TIE {n: 1}]->() DELETE r RETURN [count(*)]"))
		require.NoError(t, tx.Commit(t.Context()))
		require.Equal(t, []int64{4, 3}, integers(mustRun(t, e, search, nil)[0][0]))
		mustRun(t, e, "MATCH (d:Doc {n: 1}) DETACH DELETE d", nil)
		require.Equal(t, []int64{1001, 1002}, integers(mustRun(t, e, search, nil)[0][0]))
	}
}

// TestNearestBudget holds searches to the memory of their statements, and ends them when they are cancelled.
func TestNearestBudget(t *testing.T) {
	store := onDisk(t, 2)
	e := query.New(store, query.Options{})
	mustRun(t, e, "UNWIND range(1, 20000) AS i CREATE (:Doc {v: [i, 1]})", nil)
	mustRun(t, e, "CREATE VECTOR INDEX docs FOR (d:Doc) ON d.v", nil)
	const search = "CALL db.index.vector.queryNodes('docs', $k, [1, 0]) YIELD node RETURN count(node)"
	few, many := map[string]graph.Value{"k": graph.IntValue(10)}, map[string]graph.Value{"k": graph.IntValue(20_000)}
	small := query.New(store, query.Options{QueryBytes: 1 << 20})
	require.Equal(t, graph.IntValue(10), mustRun(t, small, search, few)[0][0])
	_, err := run(t.Context(), small, search, many)
	require.Equal(t, graph.KindBudget, graph.AsError(err).Kind)
	require.Equal(t, graph.IntValue(20_000), mustRun(t, e, search, many)[0][0])
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = run(ctx, e, search, few)
	require.Equal(t, graph.KindDeadline, graph.AsError(err).Kind)
}
