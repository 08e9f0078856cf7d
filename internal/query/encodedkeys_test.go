package query

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEncodedKeys groups many edges by properties of their ends, which are encoded by vertex, and by calls of them, which are not:
// groups, their order and their aggregates are the same.
func TestEncodedKeys(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		rng := rand.New(rand.NewPCG(1, 2))
		values := []string{"1", "2.5", "'a'", "'b'", "null", "[1, 'x']", "date('2020-01-02')", "true", "0.0 / 0.0"}
		create := "UNWIND range(0, 699) AS i CREATE (:P {i: i, few: CASE i % 9"
		for i, v := range values {
			create += fmt.Sprintf(" WHEN %d THEN %s", i, v)
		}
		must(t, e, create+" END, some: 'name ' + i % 60, own: i})")
		must(t, e, fmt.Sprintf("MATCH (p:P) WITH collect(p) AS ps UNWIND range(0, 11999) AS k WITH ps[(k * %d) %% 700] AS a, ps[(k * k + k / 7) %% 700] AS b, k CREATE (a)-[:R {w: k %% 100}]->(b)", 1+2*rng.IntN(100)))
		same := func() {
			t.Helper()
			for _, pattern := range []string{
				"MATCH (a:P)-[r:R]->(b) RETURN %s, count(*), sum(r.w), count(DISTINCT r.w)",
				"MATCH (a)-[r:R]-(b:P) WHERE r.w < 70 RETURN %s, count(*), min(r.w), collect(r.w)[0]",
				"MATCH (a:P)-[:R]->()-[:R]->(b) WHERE a.i < 40 RETURN %s, count(*)",
				"MATCH (a:P)-[:R*1..2]->(b) WHERE a.i < 40 RETURN %s, count(*)",
				"UNWIND [1, 2] AS x CALL { WITH x MATCH (a:P)-[r:R]->(b) WHERE r.w < x * 30 RETURN %s, count(*) AS n } RETURN *",
			} {
				for _, keys := range [][2]string{
					{"a.few AS k", "coalesce(a.few) AS k"},
					{"b.few AS k", "coalesce(b.few) AS k"},
					{"a.few AS k, b.some AS l", "coalesce(a.few) AS k, coalesce(b.some) AS l"},
					{"b.some AS k, b.few AS l, a.few AS m", "coalesce(b.some) AS k, coalesce(b.few) AS l, coalesce(a.few) AS m"},
					{"b.own AS k, a.some AS l", "coalesce(b.own) AS k, coalesce(a.some) AS l"},
				} {
					encoded := must(t, e, fmt.Sprintf(pattern, keys[0]))
					require.NotEmpty(t, encoded)
					require.Equal(t, must(t, e, fmt.Sprintf(pattern, keys[1])), encoded, fmt.Sprintf(pattern, keys[0]))
				}
			}
		}
		same()
		must(t, e, "MATCH (p:P) WHERE p.i % 3 = 0 SET p.few = 'new', p.some = null")
		same()
	})
}
