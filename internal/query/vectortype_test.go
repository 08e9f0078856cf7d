package query

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// TestVectorDifferential compares statements on vectors with the same ones on lists of the same numbers, often enough that both properties
// are read from packed columns, between changes of both.
func TestVectorDifferential(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		rng := rand.New(rand.NewPCG(3, 5))
		const dimensions = 19
		some := func(typ graph.CoordinateType) (list, vec graph.Value) {
			l := make([]graph.Value, dimensions-rng.IntN(8)/7)
			for i := range l {
				l[i] = graph.FloatValue(float64(float32(rng.NormFloat64())))
				if typ != graph.Float32 && typ != graph.Float64 {
					l[i] = graph.IntValue(int64(rng.IntN(200) - 100))
				}
			}
			v, err := graph.VectorOf(typ, l)
			require.NoError(t, err)
			return graph.ListValue(l), graph.VectorValue(v)
		}
		rows := func(n int) graph.Value {
			out := make([]graph.Value, n)
			for i := range out {
				l, v := some(graph.CoordinateType(1 + rng.IntN(6)))
				out[i] = graph.ListValue([]graph.Value{graph.IntValue(int64(rng.IntN(300))), l, v})
			}
			return graph.ListValue(out)
		}
		run := func(text string, params map[string]graph.Value) []string {
			res, err := e.Query(t.Context(), Request{Statement: text, Params: params})
			out, err := rowsOf(res, err)
			require.NoError(t, err, text)
			return out
		}
		must(t, e, "UNWIND range(0, 299) AS i CREATE (:Doc {id: i})-[:NEXT]->(:Other)")
		must(t, e, "CREATE VECTOR INDEX l FOR (d:Doc) ON d.l OPTIONS {indexConfig: {`vector.dimensions`: 19}}")
		must(t, e, "CREATE VECTOR INDEX v FOR (d:Doc) ON d.v OPTIONS {indexConfig: {`vector.dimensions`: 19}}")
		for range 12 {
			run("UNWIND $rows AS row MATCH (d:Doc {id: row[0]}) SET d.l = row[1], d.v = row[2]", map[string]graph.Value{"rows": rows(120)})
			ql, qv := some(graph.Float32)
			for _, text := range []string{
				"MATCH (d:Doc) WHERE size(d.#) = size($?) RETURN d.id, vector.similarity.cosine(d.#, $?) AS c ORDER BY c DESC, d.id LIMIT 30",
				"MATCH (d:Doc)-[:NEXT]->(o) WHERE size(d.#) = size($?) RETURN d.id, vector.similarity.euclidean($?, d.#) AS c ORDER BY c DESC, d.id LIMIT 7",
				"CALL db.index.vector.queryNodes('#', 20, $?) YIELD node, score RETURN node.id, score ORDER BY score DESC, node.id",
				"MATCH (d:Doc) RETURN toFloatList(d.#) AS f, count(*) ORDER BY f",
				"MATCH (d:Doc), (x:Doc) WHERE d.id < 20 AND x.id < 20 AND d.# = x.# RETURN d.id, x.id ORDER BY d.id, x.id",
			} {
				if strings.Contains(text, "queryNodes") && len(ql.List()) != dimensions {
					continue
				}
				params := map[string]graph.Value{"l": ql, "v": qv}
				want := run(strings.NewReplacer("#", "l", "?", "l").Replace(text), params)
				for _, names := range [][2]string{{"v", "v"}, {"v", "l"}, {"l", "v"}} {
					got := run(strings.NewReplacer("#", names[0], "?", names[1]).Replace(text), params)
					require.Equal(t, want, got, "%s %v", text, names)
				}
			}
		}
	})
}
