package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/cli"
)

// Operations are put from files and manifests, shown, disabled, enabled and dropped; what is wrong in a file is named with its place, and
// nothing of it is put.
func TestOperation(t *testing.T) {
	a, _ := serve(t)
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	good := func(stdin string, args ...string) string {
		t.Helper()
		out, errs, code := ctl(a.Address, stdin, append([]string{"operation"}, args...)...)
		require.Zero(t, code, errs)
		return out
	}
	const list = "name,kind,state,version,write,description,problem\n"
	const add, find = "// name: add\n// param: name :: STRING\nCREATE (:Person {name: $name})\n", "// name: find\n// description: By name.\n" +
		"// param: name :: STRING -- of a person\n// param: most :: INTEGER = 10\nMATCH (p:Person {name: $name}) RETURN p.name AS name LIMIT $most"
	require.Equal(t, list, good("", "list", "-o", "csv"))
	require.Regexp(t, `^name,version,write,hash\nadd,1,true,[0-9a-f]{64}\nfind,1,false,[0-9a-f]{64}\n$`,
		good("", "put", "-o", "csv", file("people.cypher", "\ufeff"+add+find)))
	require.Regexp(t, "(?m)^find,statement,broken,1,false,By name.,.*Person", good("", "list", "-o", "csv"), "there is no such label")
	_, errs, code := ctl(a.Address, "", "query", "-p", `name="Ann"`, "CALL op.add($name)")
	require.Zero(t, code, errs)
	require.Equal(t, list+"add,statement,enabled,1,true,,\nfind,statement,enabled,1,false,By name.,\n", good("", "list", "-o", "csv"))
	out, errs, code := ctl(a.Address, "", "query", "-o", "csv", "CALL op.find('Ann')")
	require.Zero(t, code, errs)
	require.Equal(t, "name\nAnn\n", out)

	require.Contains(t, good("", "put", "-o", "csv", file("person.json", "// name: person\n// route: get\n// param: name :: STRING\n"+
		`{"Person": {"name": {"$param": "name"}}}`)), "person,1,false,")
	require.Contains(t, good("", "list", "-o", "csv"), "\nperson,fetch,enabled,1,false,,\n")
	out, errs, code = ctl(a.Address, "", "query", "-o", "ndjson", "CALL op.person('Ann')")
	require.Zero(t, code, errs)
	require.Contains(t, out, `{"Person":{"name":"Ann"}}`)
	good("", "drop", "person")
	shown := good("", "show", "find", "-o", "json")
	for _, part := range []string{"MATCH (p:Person {name: $name}) RETURN p.name AS name LIMIT $most", `of a person`, `"10"`, "enabled"} {
		require.Contains(t, shown, part)
	}
	good("", "disable", "find")
	require.Contains(t, good("", "list", "-o", "csv"), "\nfind,statement,disabled,1,")
	_, errs, code = ctl(a.Address, "", "query", "CALL op.find('Ann')")
	require.Equal(t, cli.Failed, code)
	require.Contains(t, errs, "Neo.ClientError.Operation.Disabled")
	require.Regexp(t, "\nfind,2,false,", good("// name: find\nRETURN 2 AS two", "put", "-o", "csv", "-"))
	require.Contains(t, good("", "list", "-o", "csv"), "\nfind,statement,disabled,2,", "it stays disabled")
	good("", "enable", "find")
	require.Contains(t, good("", "list", "-o", "csv"), "\nfind,statement,enabled,2,")

	manifest := `{"format": "apollo-persisted-query-manifest", "version": 1, "operations": [` +
		`{"id": "abc", "name": "one", "type": "query", "body": "RETURN 1 AS one"}, {"id": "def", "name": "two", "type": "query", "body": "RETURN 2 AS two"}]}`
	require.Regexp(t, `^name,version,write,hash\none,1,false,.*\ntwo,1,false,.*\n$`, good("", "import", "-o", "csv", file("apollo.json", manifest)))
	require.Contains(t, good("", "show", "one", "-o", "json"), `"abc"`)
	good("", "drop", "one")
	before := good("", "list", "-o", "csv")
	require.NotContains(t, before, "\none,")

	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"put", file("type.cypher", add+"// name: b\n// param: x :: DATE\nRETURN $x")}, cli.Usage, "type.cypher:5:16: "},
		{[]string{"put", file("plan.cypher", "// name: c\nRETURN 1\n// name: d\nRETURN $x")}, cli.Failed, "operation d: it uses the parameter $x"},
		{[]string{"put", file("good.cypher", "// name: e\nRETURN 1"), filepath.Join(dir, "none.cypher")}, cli.Usage, "none.cypher"},
		{[]string{"put"}, cli.Usage, "requires at least 1 arg"},
		{[]string{"import", file("bad.json", "{\n  \"operations\": [}")}, cli.Usage, "bad.json:2:18: "},
		{[]string{"show"}, cli.Usage, "accepts 1 arg"},
		{[]string{"drop", "nobody"}, cli.Failed, "Neo.ClientError.Operation.NotFound"},
		{[]string{"disable", "nobody"}, cli.Failed, "Neo.ClientError.Operation.NotFound"},
		{nil, cli.Usage, "operation: name a command"},
	} {
		_, errs, code := ctl(a.Address, "", append([]string{"operation"}, c.args...)...)
		require.Equal(t, c.code, code, errs)
		require.Contains(t, errs, c.want)
		require.Equal(t, before, good("", "list", "-o", "csv"), "nothing has changed")
	}
}
