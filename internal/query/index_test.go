package query

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// An index answers comparisons with lists as the comparison itself does, NaN within them included.
func TestIndexOverLists(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		must(t, e, "CREATE INDEX FOR (n:Indexed) ON (n.v)")
		must(t, e, "UNWIND [[], [-5], [1], [1, 0], [1, 0.0 / 0.0], [1, 7], [2], [0.0 / 0.0], ['a'], 0.0 / 0.0] AS v CREATE (:Indexed {v: v}), (:Plain {v: v})")
		for _, op := range []string{"<", "<=", ">", ">=", "="} {
			for _, bound := range []string{"[1]", "[0.0 / 0.0]", "[1, 0.0 / 0.0]", "['a']", "[]", "0.0 / 0.0"} {
				of := func(label string) []string {
					return must(t, e, "MATCH (n:"+label+") WHERE n.v "+op+" "+bound+" RETURN n.v ORDER BY n.v")
				}
				require.Equal(t, of("Plain"), of("Indexed"), "%s %s", op, bound)
			}
		}
		require.Equal(t, []string{"[[]]", "[[-5]]", "[[1]]"}, must(t, e, "MATCH (n:Indexed) WHERE n.v < [1, 0.0 / 0.0] RETURN n.v ORDER BY n.v"))
	})
}
