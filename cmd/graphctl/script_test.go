package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cli"
)

// ctl runs a command line against a test's server.
func ctl(address, stdin string, args ...string) (out, errs string, code int) {
	a := &app{}
	root := newRoot(a)
	var stdout, stderr bytes.Buffer
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	root.SetArgs(append([]string{"--address", address}, args...))
	if err := root.ExecuteContext(context.Background()); err != nil {
		a.report(&stderr, err)
		code = cli.ExitCode(err)
	}
	return stdout.String(), stderr.String(), code
}

// Statements and the shell's commands run from files and from standard input alike, and errors name their places there.
func TestScripts(t *testing.T) {
	a, _ := serve(t)
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	all := "\ufeff// first\n:mode csv\r\n:param x => 2; RETURN $x AS a;\r\n:begin\nCREATE (:A); :commit\nMATCH (n:A) RETURN count(n) AS n;\nquit\nRETURN 9 AS never;"
	for _, run := range [][]string{{"", "query", "-f", file("all.cypher", all)}, {all, "query", "-"}, {"", "query", ":source " + file("all.cypher", strings.ReplaceAll(all, "CREATE (:A)", "RETURN 3 AS b"))}} {
		out, errs, code := ctl(a.Address, run[0], run[1:]...)
		require.Zero(t, code, errs)
		require.Contains(t, out, "a\n2\n")
		require.Contains(t, out, "n\n")
		require.NotContains(t, out, "never")
	}
	for _, c := range []struct{ text, want string }{
		{"RETURN 1;\n\n  RETURN\n abc;", "bad.cypher:4:2: Neo.ClientError.Statement.SyntaxError: "},
		{"/* é */ RETURN 1; RETURN abc", "bad.cypher:1:26: Neo.ClientError.Statement.SyntaxError: "},
		{"RETURN 1;\n  UNWIND [0] AS x\n RETURN 1 / x;", "bad.cypher:3:11: Neo."},
		{"RETURN 1;\n  DROP INDEX\n none;", "bad.cypher:2:3: Neo."}, // an error without a place has that of its statement
		{"RETURN 1;\n :max-rows many\nRETURN 2;", "bad.cypher:2:2: :max-rows many: must be a number of rows"},
		{":begin\nCREATE (:Lost);", "a transaction was open at the end and is rolled back"},
		{":source " + filepath.Join(dir, "bad.cypher"), "more than 16 files are nested"},
		{"RETURN 'open", "bad.cypher:1:8: "},
	} {
		_, errs, code := ctl(a.Address, "", "query", "-f", file("bad.cypher", c.text))
		require.NotZero(t, code)
		require.Contains(t, errs, c.want)
	}
	_, errs, _ := ctl(a.Address, "RETURN 1;\nRETURN abc;", "query", "-")
	require.Contains(t, errs, "graphctl: <stdin>:2:8: ")
	_, errs, _ = ctl(a.Address, "", "query", "\n RETURN abc;")
	require.Contains(t, errs, "(line 2, column 9)")
	_, errs, _ = ctl(a.Address, "", "explain", "RETURN abc")
	require.Contains(t, errs, "(line 1, column 8)")
	out, errs, code := ctl(a.Address, "", "query", "-f", file("empty.cypher", "// nothing\n"))
	require.Zero(t, code, errs)
	require.Empty(t, out+errs)
	_, _, code = ctl(a.Address, "", "query", "")
	require.Equal(t, cli.Failed, code)
	out, _, _ = ctl(a.Address, "", "query", "-o", "csv", "MATCH (n:Lost) RETURN count(n) AS n")
	require.Equal(t, "n\n0\n", out)
}

// A load runs scripts in order, sums what is committed, and shows no rows.
func TestLoadScript(t *testing.T) {
	a, _ := serve(t)
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	first := file("a.cypher", `// as APOC and guides write
:begin
CREATE (:A {k: 1}), (:A {k: 2});
:commit
:begin
CREATE (:Lost);
:rollback
:param rows => [{_id: 3, at: date('2020-02-29'), s: 'it\'s; "'}, {_id: 4, at: null}]
:params {more: [5], x: 1}
:auto UNWIND $rows AS row
CREATE (:A {k: row._id, at: row.at, s: row.s});
UNWIND $more AS k CREATE (:A {k: k}) RETURN k;
:param word => a word`)
	zipped := filepath.Join(dir, "b.cql.gz")
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	_, err := w.Write([]byte("MATCH (n:A {k: 5}) SET n.done = $word"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(zipped, z.Bytes(), 0o600))
	out, errs, code := ctl(a.Address, "", "load", first, zipped)
	require.Zero(t, code, errs)
	require.Regexp(t, `^ran 5 statements in \d+\.\d s: 5 vertices created, 8 properties set, 5 labels added\n$`, out)
	require.Empty(t, errs)
	out, _, _ = ctl(a.Address, "", "query", "-o", "csv", "MATCH (n) RETURN count(n) AS n, max(n.s) AS s, max(n.at) AS at, max(n.done) AS done")
	require.Equal(t, "n,s,at,done\n5,\"it's; \"\"\",2020-02-29,a word\n", out)

	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{file("bad.cypher", "CREATE (:B);\n\n  MATCH (n:B)\n  SET n.x = 1 / 0;\nCREATE (:B);")}, "bad.cypher:4:15: Neo."},
		{[]string{file("param.cypher", "\n:param x => [1 +]")}, "param.cypher:2:17: Neo."},
		{[]string{file("map.cypher", ":param {x: 1,}")}, "map.cypher:1:14: Neo."},
		{[]string{file("open.cypher", ":begin\nCREATE (:B);")}, "a transaction was open at the end and is rolled back"},
		{[]string{"--dry-run", first}, "--dry-run is for records"},
		{[]string{first, dir}, "load it apart from scripts"},
		{[]string{filepath.Join(dir, "none.cypher")}, "none.cypher"},
	} {
		_, errs, code := ctl(a.Address, "", append([]string{"load"}, c.args...)...)
		require.NotZero(t, code)
		require.Contains(t, errs, c.want)
	}
	out, _, _ = ctl(a.Address, "", "query", "-o", "csv", "MATCH (n:B) RETURN count(n) AS n")
	require.Equal(t, "n\n1\n", out, "what came before an error stays, and nothing after it runs")
}

// The cap of a terminal ends the answer at the server; rows that end before it are all there are.
func TestRowCap(t *testing.T) {
	a, _ := serve(t)
	rows := func(statement string) (string, string) {
		var stdout, stderr bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetContext(context.Background())
		cmd.SetOut(&stdout)
		cmd.SetErr(&stderr)
		require.NoError(t, a.query(cmd, &queryFlags{output: "table", shown: 3}, statement))
		return stdout.String(), stderr.String()
	}
	out, errs := rows("UNWIND range(1, 1000000000000) AS x RETURN x")
	require.Equal(t, "x\n-\n1\n2\n3\n(first 3 rows; more with --max-rows)\n", out)
	require.Empty(t, errs)
	out, _ = rows("UNWIND range(1, 3) AS x RETURN x")
	require.Contains(t, out, "(3 rows)")
	_, errs = rows("UNWIND range(1, 9) AS x CREATE (:A) RETURN x")
	require.Contains(t, errs, "9 vertices created")
}

// Only a terminal gets colours, and not with NO_COLOR. Values cannot send control sequences to it.
func TestStyles(t *testing.T) {
	var b bytes.Buffer
	p, err := newPrinter("table", &b)
	require.NoError(t, err)
	require.False(t, p.color)
	p.color = true
	p.begin([]string{"a", "b"})
	require.NoError(t, p.row([]*pb.Value{text("x\x1b[31m"), {}}))
	require.NoError(t, p.end())
	require.Equal(t, "\x1b[1ma\x1b[0m            \x1b[1mb\x1b[0m\n\x1b[2m-----------\x1b[0m  \x1b[2m----\x1b[0m\nx\\u001b[31m  null\n\x1b[2m(1 row)\x1b[0m\n", b.String())
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there are no pseudo terminals:", err)
	}
	defer terminal.Close()
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	require.Equal(t, "\x1b[31mx\x1b[0m", red.on(terminal, "x"))
	require.Equal(t, "x", red.on(&b, "x"))
	t.Setenv("NO_COLOR", "1")
	require.Equal(t, "x", red.on(terminal, "x"))
}
