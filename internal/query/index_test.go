package query

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
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

// An error distinguishes a missing property from a duplicate value.
func TestConstraintDetails(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		must(t, e, "CREATE CONSTRAINT FOR (n:A) REQUIRE n.k IS NODE KEY")
		must(t, e, "CREATE CONSTRAINT FOR ()-[r:T]-() REQUIRE r.k IS NOT NULL")
		must(t, e, "CREATE (:A {k: 1})")
		for statement, detail := range map[string]string{
			"CREATE (:A)":            "Required",
			"MATCH (a:A) REMOVE a.k": "Required",
			"CREATE ()-[:T]->()":     "Required",
			"CREATE (:A {k: 1})":     "ConstraintViolation",
		} {
			_, err := e.Query(context.Background(), Request{Statement: statement})
			require.Equal(t, "Neo.ClientError.Schema.ConstraintValidationFailed", code(err), statement)
			require.Equal(t, detail, graph.AsError(err).Detail, statement)
		}
	})
}
