package main_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// literals are values of all types in openCypher's syntax: scalars by type, which lists contain too.
var literals = [][]string{
	{"0", "-1", "9223372036854775807", "-9223372036854775807"},
	{"1.0", "-0.0", "0.1", "1e300", "5e-324", "0.0/0.0", "1.0/0.0", "-1.0/0.0"},
	{"true", "false"},
	{
		`''`, `'a'`, `' a '`, `'a;b'`, `'a,"b"'`, `'"'`, `'line\nline'`, `'\r\n'`, `'tab\t'`, `'it\'s'`, `'é 世 😀'`, `'null'`, `'[1]'`, `'\\N'`, `'1'`, `'true'`,
		`'` + strings.Repeat("long ", 500) + `'`,
	},
	{"date('2020-02-29')", "date('-0001-01-01')", "date('1969-12-31')"},
	{"localtime('00:00')", "localtime('23:59:59.999999999')"},
	{"time('10:00:01.5+02:00')", "time('00:00Z')", "time('23:59:59-11:30')"},
	{"localdatetime('2020-01-01T00:00')", "localdatetime('1969-12-31T23:59:59.000000001')"},
	{"datetime('2020-07-01T10:00:00[Europe/Stockholm]')", "datetime('1999-12-31T23:59:59.123+05:30')", "datetime('2020-01-01T00:00Z')"},
	{"duration('P1Y2M3DT4.5S')", "duration('PT0S')", "duration('P-1M2DT-3.000000001S')"},
	{
		"point({x: 1, y: -2.5})", "point({x: 1e-9, y: 1e21, z: 3})", "point({longitude: 12.5, latitude: 55})",
		"point({longitude: 1, latitude: -2, height: -3.5})",
	},
	{
		"vector([1, -128], 2, INTEGER8)", "vector([1, -2, 3], 3, INTEGER16)", "vector([7], 1, INTEGER32)", "vector([9007199254740993, -1], 2, INTEGER)",
		"vector([0.1, 1e-30, -3], 3, FLOAT32)", "vector([0.1, 1e300], 2, FLOAT)", "vector(range(1, 300), 300, FLOAT32)",
	},
}

// randomValue returns a scalar or a list of type t; mixed lists are of several types.
func randomValue(rng *rand.Rand, t int, mixed bool) string {
	pick := func(t int) string { return literals[t][rng.IntN(len(literals[t]))] }
	switch {
	case mixed && rng.IntN(30) == 0:
		return "[1, 2.0, 'x;', true]"
	case rng.IntN(3) > 0, t == len(literals)-1: // no list that is a property holds vectors
		return pick(t)
	}
	elements := make([]string, rng.IntN(4))
	for i := range elements {
		elements[i] = pick(t)
	}
	return "[" + strings.Join(elements, ", ") + "]"
}

func randomProps(rng *rand.Rand, mixed bool) string {
	var ps []string
	for i := range rng.IntN(5) {
		t := rng.IntN(len(literals))
		name := fmt.Sprintf("p%d", t) // mostly one type a property
		if rng.IntN(8) == 0 {
			name = "any"
		}
		if slices.ContainsFunc(ps, func(p string) bool { return strings.HasPrefix(p, "`"+name+"`") }) {
			continue
		}
		if i == 4 {
			name = []string{`a.b, c"d`, `p:int{array:json}`, `(x):ID`, "``"}[rng.IntN(4)]
		}
		ps = append(ps, "`"+name+"`: "+randomValue(rng, t, mixed))
	}
	return strings.Join(ps, ", ")
}

// randomGraph returns a statement that creates a graph: vertices with no, one or several labels, parallel edges and loops.
func randomGraph(rng *rand.Rand, vertices, edges int, mixed bool) string {
	var parts []string
	labels := []string{"", ":A", ":A:B", ":B:C", ":`x y`:A", ":`q``(:ID){}, 'l'\"`:`x:LABEL`"}
	for i := range vertices {
		props := randomProps(rng, mixed)
		if rng.IntN(5) > 0 {
			props = strings.TrimSuffix(fmt.Sprintf("k: %d, %s", i, props), ", ")
		}
		parts = append(parts, fmt.Sprintf("(v%d%s {%s})", i, labels[rng.IntN(len(labels))], props))
	}
	for range edges {
		a, b := rng.IntN(vertices), rng.IntN(vertices)
		if rng.IntN(10) == 0 {
			b = a
		}
		edge := fmt.Sprintf("(v%d)-[:%s {%s}]->(v%d)", a, []string{"R", "S", "`T t`", "`a;b:\"``'`"}[rng.IntN(4)], randomProps(rng, mixed), b)
		parts = append(parts, edge)
		if rng.IntN(10) == 0 {
			parts = append(parts, edge)
		}
	}
	return "CREATE " + strings.Join(parts, ", ")
}

// canonical returns all vertices and edges, with the types of their properties, in an order that depends on nothing else.
func (s *server) canonical(graph string) []string {
	const show = "{properties: properties(%[1]s), types: [k IN keys(%[1]s) | k + valueType(%[1]s[k])]"
	n, m, r := fmt.Sprintf(show, "n")+", labels: labels(n)}", fmt.Sprintf(show, "m")+", labels: labels(m)}", fmt.Sprintf(show, "r")+"}"
	var out []string
	for _, statement := range []string{"MATCH (n) RETURN " + n + " AS n", "MATCH (n)-[r]->(m) RETURN " + n + " AS n, type(r) AS t, " + r + " AS r, " + m + " AS m"} {
		dec := json.NewDecoder(strings.NewReader(s.graphctl("--graph", graph, "query", "-o", "ndjson", statement)))
		dec.UseNumber()
		for dec.More() {
			var row map[string]any
			require.NoError(s.t, dec.Decode(&row))
			for _, record := range row {
				if record, ok := record.(map[string]any); ok {
					for _, key := range []string{"labels", "types"} {
						if l, ok := record[key].([]any); ok {
							slices.SortFunc(l, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
						}
					}
				}
			}
			text, err := json.Marshal(row)
			require.NoError(s.t, err)
			out = append(out, string(text))
		}
	}
	slices.Sort(out)
	return out
}

// equal compares canonical forms and shows only the first difference.
func equal(t *testing.T, want, got []string) {
	for i := range min(len(want), len(got)) {
		require.Equal(t, want[i], got[i], "line %d", i)
	}
	require.Len(t, got, len(want))
}

// An export in any format loads as an equal graph.
func TestExport(t *testing.T) {
	t.Parallel()
	for seed, format := range []string{"csv", "jsonl", "csv", "jsonl", "parquet", "parquet", "arrow", "graphml", "cypher"} {
		t.Run(format, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(seed), 1))
			s := start(t, filepath.Join(t.TempDir(), "data"))
			create := randomGraph(rng, 80, 150, format != "parquet" && format != "arrow")
			if format == "graphml" { // whose lists of labels have colons between them
				create = strings.NewReplacer("(:ID)", "(ID)", "`x:LABEL`", "`xLABEL`").Replace(create)
			}
			s.graphctl("query", create)
			s.graphctl("query", "CREATE CONSTRAINT `c``1` FOR (n:A) REQUIRE n.k IS UNIQUE")
			s.graphctl("query", "CREATE CONSTRAINT c2 FOR ()-[r:Z]-() REQUIRE r.p1 IS NOT NULL")
			s.graphctl("query", "CREATE INDEX i FOR (n:B) ON (n.p1, n.p2)")
			s.graphctl("query", "CREATE POINT INDEX p FOR (n:B) ON (n.p1)")
			s.graphctl("query", "CREATE POINT INDEX q FOR ()-[r:Z]-() ON (r.p2)")
			s.graphctl("query", "CREATE VECTOR INDEX v FOR (n:B) ON n.p1 OPTIONS {indexConfig: {`vector.dimensions`: 3, `vector.similarity_function`: 'euclidean', "+
				"`vector.hnsw.m`: 9, `vector.hnsw.ef_construction`: 99, `vector.quantization.enabled`: false}}")
			s.graphctl("query", "CREATE FULLTEXT INDEX f FOR (n:A|B) ON EACH [n.p1, n.p2] OPTIONS {indexConfig: {`fulltext.analyzer`: 'english', `fulltext.eventually_consistent`: true}}")
			s.graphctl("query", "CREATE FULLTEXT INDEX g FOR ()-[r:Z|R]-() ON EACH [r.p2]")
			s.graphctl("query", "CREATE VECTOR INDEX w FOR ()-[r:Z]-() ON r.p2")
			s.graphctl("query", "CREATE LABEL `q``(:ID){}, 'l'\"` OPTIONS {ttl: 'P9DT0.5S'}")
			s.graphctl("query", "CREATE LABEL Session OPTIONS {ttl: 'P2D', property: 'it\\\\s \\'at\\''}")
			s.graphctl("query", "CREATE RELATIONSHIP TYPE `a;b:\"``'` OPTIONS {ttl: 3600}")
			s.graphctl("query", "UNWIND [datetime() - duration('PT1H'), datetime() + duration('PT9H'), null] AS at CREATE (:Session {`it\\s 'at'`: at})-[:R]->(:Of)")
			dir := filepath.Join(t.TempDir(), "new", "export")
			require.Contains(t, s.graphctl("export", dir, "--format", format), "exported 86 vertices")
			o := run(t, []string{"GRAPHCTL_ADDRESS=" + s.addrs.GRPC}, "graphctl", "export", dir, "--format", format)
			require.Equal(t, 2, o.code, "into what is not empty")

			s.graphctl("query", "CREATE GRAPH other")
			s.graphctl("--graph", "other", "load", dir)
			statements, err := os.ReadFile(filepath.Join(dir, "schema.cypher"))
			require.NoError(t, err)
			for statement := range strings.Lines(string(statements)) {
				s.graphctl("--graph", "other", "query", statement)
			}
			equal(t, s.canonical("default"), s.canonical("other"))
			indexes := "SHOW CONSTRAINTS YIELD name, type, labelsOrTypes, properties"
			require.Equal(t, s.graphctl("query", indexes), s.graphctl("--graph", "other", "query", indexes))
			indexes = "SHOW INDEXES YIELD name, type, labelsOrTypes, properties, options"
			require.Equal(t, s.graphctl("query", indexes), s.graphctl("--graph", "other", "query", indexes))
			for _, show := range []string{"SHOW LABELS", "SHOW RELATIONSHIP TYPES"} {
				require.Equal(t, s.graphctl("query", show), s.graphctl("--graph", "other", "query", show))
			}
			for _, graph := range []string{"default", "other"} { // the times from which TTLs count have travelled as well
				s.graphctl("--graph", graph, "query", "ALTER LABEL Session SET OPTIONS {ttl: 'PT30M'}")
				require.Equal(t, "n\n2\n", s.graphctl("--graph", graph, "query", "-o", "csv", "MATCH (s:Session)-[:R]->() RETURN count(s) AS n"))
			}
			equal(t, s.canonical("default"), s.canonical("other"))
			require.Contains(t, s.graphctl("--graph", "other", "check"), "nothing is wrong")
			require.Zero(t, s.stop(syscall.SIGTERM), s.log)
		})
	}
}
