package query

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The length that a search gives without the path is that of the path.
func TestLengthOfShortestPaths(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		must(t, e, "UNWIND range(0, 39) AS i CREATE (:P {id: i})")
		must(t, e, "MATCH (a:P), (b:P) WHERE (a.id * 5 + b.id * 7) % 37 = 1 AND a.id < b.id CREATE (a)-[:R]->(b)")
		for _, search := range []string{"shortestPath((a)-[:R*]-(b))", "allShortestPaths((a)-[:R*]->(b))", "shortestPath((a)-[:R]->(b))"} {
			match := "MATCH (a:P), (b:P) WHERE a.id < 12 AND a <> b MATCH p = " + search
			got := must(t, e, match+" RETURN a.id, length(p), b.id")
			require.NotEmpty(t, got)
			require.ElementsMatch(t, must(t, e, match+" RETURN a.id, size(relationships(p)), b.id"), got, search)
		}
	})
}
