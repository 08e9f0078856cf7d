package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query"
)

// explain --quote ends with the most visits of a run, or with why they have no bound.
func TestExplainQuote(t *testing.T) {
	a, e := serve(t)
	res, err := e.Query(t.Context(), query.Request{Statement: "UNWIND range(1, 20) AS i CREATE (:P {k: i})-[:T]->(:Q)"})
	require.NoError(t, err)
	res.Close()
	for _, c := range []struct {
		want string
		args []string
	}{
		{"\nat most 20 visits\n", []string{"explain", "--quote", "MATCH (p:P) RETURN p.k"}},
		{"\nat most 2 visits\n", []string{"explain", "--quote", "UNWIND $ids AS i MATCH (p) WHERE elementId(p) = i RETURN p", "-p", `ids=["a","b"]`}},
		{"\nno bound: VarLengthExpand: the length has no upper bound\n", []string{"explain", "--quote", "MATCH (p:P)-[*]->(q) RETURN q"}},
		{"\nno bound: the server quotes none\n", []string{"explain", "--quote", "CREATE INDEX FOR (p:P) ON (p.k)"}},
	} {
		out, errs, code := ctl(a.Address, "", c.args...)
		require.Zero(t, code, errs)
		require.Contains(t, out, c.want)
	}
	out, _, _ := ctl(a.Address, "", "explain", "MATCH (p:P) RETURN p.k")
	require.NotContains(t, out, "at most")
}
