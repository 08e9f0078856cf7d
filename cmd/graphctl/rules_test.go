package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file of rules is applied by its difference to the rules of the graph, and what is wrong in it is named with its place.
func TestRules(t *testing.T) {
	a, _ := serve(t)
	path := filepath.Join(t.TempDir(), "rules.cypher")
	apply := func(text string, args ...string) (out, errs string, code int) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return ctl(a.Address, "", append([]string{"rules", "apply", "-f", path}, args...)...)
	}
	_, errs, code := ctl(a.Address, "", "query", "CREATE (:Ward {name: 'a', secret: 1})-[:OF]->(:House)")
	require.Zero(t, code, errs)

	first := "// Who sees what.\nGRANT MATCH {*} ON HOME GRAPH FOR (w:Ward) WHERE w.name = $claims.ward TO nurse;\nDENY READ {secret} ON GRAPH default NODES Ward TO reader;\n" +
		"GRANT WRITE ON GRAPH default TO nurse"
	const grant, deny, write = "GRANT MATCH {*} ON GRAPH default FOR (n:Ward) WHERE n.name = $claims.ward TO nurse;\n",
		"DENY READ {secret} ON GRAPH default NODES Ward TO reader;\n", "GRANT WRITE ON GRAPH default TO nurse;\n"
	out, errs, code := apply(first, "--dry-run")
	require.Zero(t, code, errs)
	require.Equal(t, grant+deny+write, out)
	out, _, _ = ctl(a.Address, "", "rules", "show")
	require.Empty(t, out, "nothing has changed yet")
	out, errs, code = apply(first)
	require.Zero(t, code, errs)
	require.Equal(t, grant+deny+write, out)
	shown, _, _ := ctl(a.Address, "", "rules", "show")
	require.Equal(t, deny+grant+write, shown)
	for _, same := range []string{first, shown} {
		out, errs, code = apply(same)
		require.Zero(t, code, errs)
		require.Equal(t, "nothing to change\n", out)
	}
	out, errs, code = apply("GRANT TRAVERSE ON GRAPH default TO nurse;" + grant)
	require.Zero(t, code, errs)
	require.Equal(t, "GRANT TRAVERSE ON GRAPH default NODES * TO nurse;\nGRANT TRAVERSE ON GRAPH default RELATIONSHIPS * TO nurse;\n"+
		"REVOKE DENY READ {secret} ON GRAPH default NODES Ward FROM reader;\nREVOKE GRANT WRITE ON GRAPH default FROM nurse;\n", out)
	shown, _, _ = ctl(a.Address, "", "rules", "show")

	for text, want := range map[string]string{
		"": "has no statement, and so no rules",
		"GRANT WRITE ON HOME GRAPH TO nurse;\n  GRANT TRAVERSE ON GRAPH *\n TO nurse": "rules.cypher:2:27: ",
		"\nRETURN 1;":                                                                           "rules.cypher:2:1: ",
		"REVOKE WRITE ON HOME GRAPH FROM nurse":                                                 "others are revoked",
		"GRANT WRITE ON GRAPH other TO nurse":                                                   "about the graph other, not default",
		"GRANT TRAVERSE ON HOME GRAPH ELEMENTS Ward TO nurse":                                   "NODES or RELATIONSHIPS",
		"GRANT TRAVERSE ON HOME GRAPH FOR (w:Ward) WHERE w.name = $x TO nurse":                  "expected parameter(s): x",
		"GRANT WRITE ON HOME GRAPH TO nurse; GRANT TRAVERSE ON HOME GRAPH NODES Wrad TO nurse;": "did you mean `Ward`?",
	} {
		_, errs, code := apply(text)
		require.NotZero(t, code, text)
		require.Contains(t, errs, want)
		now, _, _ := ctl(a.Address, "", "rules", "show")
		require.Equal(t, shown, now, "nothing has changed")
	}
	_, _, code = ctl(a.Address, "", "rules", "apply")
	require.NotZero(t, code)
}

// An export holds the rules if asked to, in a file that the graph that loads it can apply.
func TestExportRules(t *testing.T) {
	from, _ := serve(t)
	for _, statement := range []string{
		"CREATE (:Ward {name: 'a', secret: 1})-[:OF]->(:House)", "GRANT MATCH {*} ON HOME GRAPH FOR (w:Ward) WHERE w.name = $claims.ward TO nurse",
		"DENY READ {secret} ON HOME GRAPH NODES Ward TO reader",
	} {
		_, errs, code := ctl(from.Address, "", "query", statement)
		require.Zero(t, code, errs)
	}
	want, _, _ := ctl(from.Address, "", "rules", "show")
	for _, format := range []string{"csv", "cypher"} {
		dir := filepath.Join(t.TempDir(), "with")
		_, errs, code := ctl(from.Address, "", "export", dir, "--format", format, "--rules")
		require.Zero(t, code, errs)
		file := filepath.Join(dir, "rules.cypher")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, want, string(text))
		to, _ := serve(t)
		_, errs, code = ctl(to.Address, "", "load", dir)
		require.Zero(t, code, errs)
		_, errs, code = ctl(to.Address, "", "rules", "apply", "-f", file)
		require.Zero(t, code, errs)
		got, _, _ := ctl(to.Address, "", "rules", "show")
		require.Equal(t, want, got)

		dir = filepath.Join(t.TempDir(), "without")
		_, errs, code = ctl(from.Address, "", "export", dir, "--format", format)
		require.Zero(t, code, errs)
		require.NoFileExists(t, filepath.Join(dir, "rules.cypher"))
		dir = filepath.Join(t.TempDir(), "none")
		empty, _ := serve(t)
		_, errs, code = ctl(empty.Address, "", "export", dir, "--format", format, "--rules")
		require.Zero(t, code, errs)
		require.FileExists(t, filepath.Join(dir, "rules.cypher"))
	}
}

// A statement runs as the caller whom a file of claims describes, and changes nothing.
func TestRulesTest(t *testing.T) {
	a, _ := serve(t)
	path := filepath.Join(t.TempDir(), "claims.json")
	as := func(claims, statement string) (out, errs string, code int) {
		require.NoError(t, os.WriteFile(path, []byte(claims), 0o600))
		return ctl(a.Address, "", "rules", "test", "-o", "csv", "--as", path, statement)
	}
	for _, statement := range []string{
		"CREATE (:Ward {name: 'a', secret: 1}), (:Ward {name: 'b', secret: 2})",
		"GRANT MATCH {*} ON HOME GRAPH FOR (w:Ward) WHERE w.name = $claims.ward TO nurse",
		"DENY READ {secret} ON HOME GRAPH NODES Ward TO reader",
	} {
		_, errs, code := ctl(a.Address, "", "query", statement)
		require.Zero(t, code, errs)
	}
	for claims, want := range map[string]string{
		`{"sub": "ann", "roles": ["nurse"], "ward": "b"}`: "name,secret\nb,2\n",
		`{"roles": ["nurse"]}`:                            "name,secret\n",
		`{"roles": ["reader"]}`:                           "name,secret\na,\nb,\n",
		`{"roles": ["reader", "nurse"], "ward": "a"}`:     "name,secret\na,\nb,\n",
		`{"roles": ["default:writer"]}`:                   "name,secret\na,1\nb,2\n",
		`{"roles": ["admin"]}`:                            "name,secret\na,1\nb,2\n",
	} {
		out, errs, code := as(claims, "MATCH (w:Ward) RETURN w.name AS name, w.secret AS secret ORDER BY name")
		require.Zero(t, code, errs)
		require.Equal(t, want, out, claims)
	}
	for _, c := range []struct{ claims, statement, want string }{
		{`{"roles": ["admin"]}`, "CREATE (:Ward)", "the access mode is READ"},
		{`{"roles": ["other:admin"]}`, "RETURN 1", "lacks the role reader"},
		{`{"sub": "ann"}`, "RETURN 1", "ann lacks the role reader"},
		{`["nurse"]`, "RETURN 1", "as_claims: must be a JSON object"},
		{` `, "RETURN 1", "is empty"},
	} {
		_, errs, code := as(c.claims, c.statement)
		require.NotZero(t, code, c.claims)
		require.Contains(t, errs, c.want)
	}
}
