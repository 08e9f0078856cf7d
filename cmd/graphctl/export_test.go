package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/export"
)

// nasty are texts that some format might read as something else.
var nasty = []string{
	"", " ", " lead", "trail ", "\t", "a\tb", "\n", "a\nb\n", "\r", "a\r\nb", "\x00", "a\x00b", "\x01\x1f\x7f", `"`, `""quoted""`, "'", `it\'s \n \\`, "\\",
	"\ufeffbom", "😀👩‍👩‍👧", "\u202eRTL עברית", "e\u0301 \u2028 \u2029 \ufffe", "null", "NULL", "true", "007", "1e5", "NaN", "2020-02-29", "a,b", "a;b", "a|b", "]]>", "&lt;<a>&amp;",
	`[1, "x"]`, `{"a": 1}`, ":A:B", "`tick`", "$x", "-", "#", "\\N", `\u0041`, `\\u0041\`, strings.Repeat("long \n\"", 20_000),
}

// Every format brings back every text that it can carry, alone, in a list and on an edge.
func TestExportTexts(t *testing.T) {
	carried := slices.DeleteFunc(slices.Clone(nasty), func(s string) bool { return strings.ContainsAny(s, "\x00\x01\x1f\ufffe") })
	require.Less(t, len(carried), len(nasty))
	for _, format := range export.Formats() {
		texts := nasty
		if format == "graphml" {
			texts = carried
		}
		text, err := json.Marshal(texts)
		require.NoError(t, err)
		const create = "UNWIND range(0, size($s) - 1) AS i CREATE (:A {i: i, s: $s[i], l: [$s[i], 'x', $s[i]], one: [$s[i]]})-[:R {s: $s[i]}]->(:B)"
		const read = "MATCH (a:A)-[r:R]->(:B) RETURN a.i AS i, a.s AS s, a.l AS l, a.one AS one, r.s AS r ORDER BY i"
		from, _ := serve(t)
		params := filepath.Join(t.TempDir(), "p.json")
		require.NoError(t, os.WriteFile(params, append(append([]byte(`{"s": `), text...), '}'), 0o600))
		_, errs, code := ctl(from.Address, "", "query", create, "--params", params)
		require.Zero(t, code, errs)
		want, _, _ := ctl(from.Address, "", "query", "-o", "ndjson", read)
		require.Equal(t, len(texts), strings.Count(want, "}\n"))
		dir := filepath.Join(t.TempDir(), format)
		_, errs, code = ctl(from.Address, "", "export", dir, "--format", format)
		require.Zero(t, code, errs)
		to, _ := serve(t)
		_, errs, code = ctl(to.Address, "", "load", dir)
		require.Zero(t, code, errs)
		got, _, _ := ctl(to.Address, "", "query", "-o", "ndjson", read)
		require.Equal(t, want, got, format)
	}
}

// What a format cannot represent is refused by the names of the record and the property, and leaves nothing behind.
func TestExportRefused(t *testing.T) {
	for _, c := range []struct{ format, create, refused string }{
		{"graphml", "CREATE ({s: 'a\\u0001b'})", `export: vertex \d+: property "s": XML has no character U\+0001`},
		{"graphml", "CREATE (:A)-[:R {s: '\uffff'}]->(:B)", `export: an edge from vertex \d+ to \d+: property "s": XML has no character U\+FFFF`},
		{"graphml", "CREATE ({`a\u0001b`: 1})", `the name of the property "a\\x01b" of nodes: XML has no character U\+0001`},
		{"graphml", "CREATE (:`a:b`)", `export: vertex \d+: the label "a:b"`},
		{"graphml", "CREATE ({labels: 'x'})", `export: vertex \d+: the property "labels"`},
		{"graphml", "CREATE ()-[:R {label: 'x'}]->()", `export: an edge from vertex \d+ to \d+: the property "label"`},
		{"graphml", "CREATE ()-[:R {`:ID`: 'x'}]->()", `the property ":ID"`},
		{"cypher", "CREATE (:`UNIQUE IMPORT LABEL`)", `the label "UNIQUE IMPORT LABEL"`},
		{"cypher", "CREATE ({`UNIQUE IMPORT ID`: 1})", `the property "UNIQUE IMPORT ID"`},
		{"cypher", "CREATE ()-[:`a\\u0041`]->()", `has \\u in it`},
	} {
		a, _ := serve(t)
		_, errs, code := ctl(a.Address, "", "query", c.create)
		require.Zero(t, code, errs)
		parent := t.TempDir()
		_, errs, code = ctl(a.Address, "", "export", filepath.Join(parent, "e"), "--format", c.format)
		require.NotZero(t, code)
		require.Regexp(t, c.refused, errs)
		names, err := os.ReadDir(parent)
		require.NoError(t, err)
		require.Empty(t, names)
	}
}

// A script creates vertices and edges by several statements under constraints of the graph, and removes its label, its property and its constraint.
func TestExportScript(t *testing.T) {
	from, _ := serve(t)
	for _, statement := range []string{
		"CREATE CONSTRAINT key FOR (n:N) REQUIRE n.i IS NODE KEY", "CREATE CONSTRAINT at FOR ()-[r:R]-() REQUIRE r.at IS NOT NULL",
		"UNWIND range(0, 10000) AS i CREATE (:N {i: i})", "MATCH (n:N) WHERE n.i < 1500 MATCH (m:N {i: n.i + 1}) CREATE (n)-[:R {at: n.i}]->(m)",
		"CREATE ()-[:EMPTY]->({least: -9223372036854775807 - 1, floats: [-0.0, 1e21, 0.0/0.0, -1.0/0.0]})",
	} {
		_, errs, code := ctl(from.Address, "", "query", statement)
		require.Zero(t, code, errs)
	}
	dir := filepath.Join(t.TempDir(), "e")
	_, errs, code := ctl(from.Address, "", "export", dir, "--format", "cypher")
	require.Zero(t, code, errs)
	to, _ := serve(t)
	out, errs, code := ctl(to.Address, "", "load", dir)
	require.Zero(t, code, errs)
	require.Contains(t, out, "ran 21 statements")
	for _, read := range []string{
		"MATCH (n) RETURN labels(n) AS l, count(*) AS n, sum(n.i) AS s, collect(n.least) AS least, collect(n.floats) AS floats ORDER BY n",
		"MATCH (a)-[r]->(b) RETURN type(r) AS t, count(*) AS n, sum(r.at) AS s, sum(b.i - a.i) AS step ORDER BY t", "SHOW CONSTRAINTS", "SHOW LABELS",
	} {
		want, errs, code := ctl(from.Address, "", "query", "-o", "ndjson", read)
		require.Zero(t, code, errs)
		got, _, _ := ctl(to.Address, "", "query", "-o", "ndjson", read)
		require.Equal(t, want, got)
	}
}

// A property with values that JSON does not tell apart is refused by name, and leaves nothing behind.
func TestExportAPOC(t *testing.T) {
	a, _ := serve(t)
	const create = `CREATE ({i: 1, f: 0.0/0.0, at: date('2020-02-29'), p: point({x: 1, y: 2}), d: duration('P1DT0.5S'), v: vector([1, 2], 2, INTEGER8), l: [date('2020-01-01')], e: []})
		-[:R {at: time('10:00Z'), any: 1}]->(:B:A {at: 'text', id: 7})<-[:R {any: [1.5]}]-(:A {any: 'x'}), (:A {any: true})`
	const read = "MATCH (n) OPTIONAL MATCH (n)-[r]->(m) RETURN labels(n) AS l, properties(n) AS n, [k IN keys(n) | k + valueType(n[k])] AS t, r.at AS at, r.any AS any, valueType(r.any) AS tr, labels(m) AS m ORDER BY toString(n)"
	_, errs, code := ctl(a.Address, "", "query", create)
	require.Zero(t, code, errs)
	dir := filepath.Join(t.TempDir(), "e")
	out, errs, code := ctl(a.Address, "", "export", dir, "--format", "json")
	require.Zero(t, code, errs)
	require.Contains(t, out, "4 vertices and 2 edges to 1 file in")
	text, err := os.ReadFile(filepath.Join(dir, "graph.json"))
	require.NoError(t, err)
	require.Contains(t, string(text), `{"type":"node","id":"1","labels":["A","B"],"properties":{"at":"text","id":7}}`+"\n")
	require.Regexp(t, `"label":"R","properties":\{"any":1,"at":"10:00:00Z"\},"start":\{"id":"\d+"\},"end":\{"id":"\d+","labels":\["A","B"\]\}\}\n`, string(text))
	to, _ := serve(t)
	_, errs, code = ctl(to.Address, "", "load", dir)
	require.Zero(t, code, errs)
	want, _, _ := ctl(a.Address, "", "query", "-o", "ndjson", read)
	got, _, _ := ctl(to.Address, "", "query", "-o", "ndjson", read)
	require.Equal(t, want, got)

	_, _, code = ctl(a.Address, "", "query", "CREATE (:A {any: date('2020-01-01')})")
	require.Zero(t, code)
	dir = filepath.Join(t.TempDir(), "refused")
	_, errs, code = ctl(a.Address, "", "export", dir, "--format", "json")
	require.NotZero(t, code)
	require.Contains(t, errs, `the property "any" has values of several types`)
	require.NoDirExists(t, dir)
}
