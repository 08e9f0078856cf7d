package query

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSubgraphs compares apoc.path.subgraphAll with patterns of variable length on random graphs, over each store.
func TestSubgraphs(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		r := rand.New(rand.NewPCG(1, 2))
		const n = 40
		must(t, e, fmt.Sprintf("MATCH (n) DETACH DELETE n NEXT UNWIND range(0, %d) AS i CREATE (:N {i: i})", n-1))
		for range 2 * n {
			must(t, e, fmt.Sprintf("MATCH (a:N {i: %d}), (b:N {i: %d}) CREATE (a)-[:%s]->(b)", r.IntN(n), r.IntN(n), []string{"T", "U"}[r.IntN(2)]))
		}
		for _, c := range []struct{ filter, pattern string }{{"", "-[*0..%d]-"}, {"T>", "-[:T*0..%d]->"}, {"<T|<U", "<-[:T|U*0..%d]-"}, {"U", "-[:U*0..%d]-"}} {
			for depth := range 4 {
				start := r.IntN(n)
				want := must(t, e, fmt.Sprintf("MATCH (:N {i: %d})"+c.pattern+"(m) WITH collect(DISTINCT m) AS ms "+
					"OPTIONAL MATCH (x)-[r]->(y) WHERE x IN ms AND y IN ms WITH ms, collect(r) AS rs "+
					"RETURN COLLECT { UNWIND ms AS m RETURN m.i ORDER BY m.i }, COLLECT { UNWIND rs AS r RETURN id(r) ORDER BY id(r) }", start, depth))
				have := must(t, e, fmt.Sprintf("MATCH (s:N {i: %d}) CALL apoc.path.subgraphAll(s, {relationshipFilter: '%s', maxLevel: %d}) "+
					"YIELD nodes AS ms, relationships AS rs "+
					"RETURN COLLECT { UNWIND ms AS m RETURN m.i ORDER BY m.i }, COLLECT { UNWIND rs AS r RETURN id(r) ORDER BY id(r) }", start, c.filter, depth))
				require.Equal(t, want, have, "%s %d %d", c.filter, start, depth)
			}
		}
	})
}
