package main

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query"
)

// Notifications go to standard error, whatever the format of the rows, with their position in the text.
func TestNotices(t *testing.T) {
	a, e := serve(t)
	res, err := e.Query(context.Background(), query.Request{Statement: "CREATE (:Person {id: 1})-[:KNOWS]->(:Person {id: 2})"})
	require.NoError(t, err)
	res.Close()
	const mistake = "warning: nothing in the graph has, or has had, the label `Persn`; did you mean `Person`?"
	const statement = "MATCH (p:Persn) RETURN p"
	for _, c := range []struct {
		stdin, want string
		args        []string
	}{
		{"", "graphctl: " + mistake + " (line 1, column 10)\n", []string{"query", statement}},
		{"", "graphctl: " + mistake + " (line 1, column 10)\n", []string{"query", "-o", "csv", statement}},
		{"", "graphctl: " + mistake + " (line 1, column 10)\n", []string{"explain", statement}},
		{"", "graphctl: " + mistake + " (line 1, column 10)\n", []string{"profile", statement}},
		{"", "graphctl: " + mistake + " (line 2, column 4)\n", []string{"explain", "MATCH\n(p:Persn) RETURN p"}},
		{"RETURN 1;\n" + statement, "graphctl: <stdin>:2:10: " + mistake + "\n", []string{"query", "-"}},
		{"", mistake + " (line 1, column 10)\n" + statement + "\n         ^\n", []string{"--verbose", "query", statement}},
		{
			"", "graphctl: warning: nothing in the graph has, or has had, the relationship type `KNOW`; did you mean `KNOWS`?\n",
			[]string{"traverse", "--from", "Person:id=1", "--edge", "KNOW"},
		},
	} {
		_, errs, code := ctl(a.Address, c.stdin, c.args...)
		require.Zero(t, code, errs)
		require.Contains(t, errs, c.want, "%q", c.args)
	}
	_, errs, _ := ctl(a.Address, "", "query", "MATCH (p:Persn) RETURN p")
	require.Equal(t, 1, strings.Count(errs, "\n"), "once")
	_, errs, _ = ctl(a.Address, "", "query", "MATCH (p:Person) RETURN p")
	require.Empty(t, errs)
	_, errs, _ = ctl(a.Address, "", "explain", "MATCH (p:Person) RETURN q")
	require.Contains(t, errs, "(line 1, column 25)")
}
