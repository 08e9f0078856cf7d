package docs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// families are the beginnings of procedures' names, with what the procedures are about.
var families = []struct{ prefix, title, about string }{
	{"algo.", "Graph algorithms", "[algorithms.md](../algorithms.md) describes their arguments."},
	{"db.index.", "Searches", "[search.md](../search.md) describes indexes, queries and scores."},
	{"db.create.", "Vectors", "They set a property to a vector."},
	{"db.cdc.", "Changes", "[changes.md](../changes.md) describes events and selectors."},
	{"cdc.", "Changes by Neo4j's earlier names", "They do the same as those of `db.cdc`."},
	{"db.operations.", "Trusted operations", "[gateway.md](../gateway.md) describes operations. `graphctl operation` calls these."},
	{"db.quotas.", "Quotas", "[gateway.md](../gateway.md#quotas) describes quotas. `graphctl quota` calls these."},
	{"db.fetch.", "Fetches", "[fetch.md](../fetch.md) describes fetches and the rules of requests."},
	{"db.", "Schema and indexes", "They describe the graph, and wait for its indexes."},
	{"dbms.", "Server", "Neo4j's clients ask them about the server."},
	{"tx.", "Transaction", "They keep data beside the transaction, as Neo4j's do."},
	{"apoc.create.", "APOC: create", "Labels, types and keys are values."},
	{"apoc.merge.", "APOC: merge", "As MERGE, with labels, types and keys as values."},
	{"apoc.refactor.", "APOC: refactor", "They change the shape of a graph in the transaction of the statement."},
	{"apoc.path.", "APOC: paths", "[cypher.md](../cypher.md#paths-by-filters) describes the filters."},
	{"apoc.load.", "APOC: load", "They read what [LOAD CSV](../load-csv.md) may read."},
	{"apoc.periodic.", "APOC: batches", "They commit batch by batch."},
	{"apoc.meta.", "APOC: meta", "They describe the graph from counters and a sample."},
	{"apoc.schema.", "APOC: schema", "They describe and make indexes."},
	{"apoc.", "APOC: statements and conditions", "They run statements that are values."},
}

// TestProcedures runs an example of each procedure that SHOW PROCEDURES lists, and compares the page made of them.
func TestProcedures(t *testing.T) {
	shown := examples(t, "testdata/procedures", people, true)
	_, rows, err := newEngine(t, "").run("SHOW PROCEDURES YIELD name, description, mode, signature ORDER BY toLower(name)")
	require.NoError(t, err)
	sections := make([]strings.Builder, len(families))
	for _, row := range rows {
		x, ok := exampleOf(t, row, shown, "testdata/procedures")
		if !ok {
			continue
		}
		name, description, mode, signature := row[0], row[1], row[2], row[3]
		at := slices.IndexFunc(families, func(f struct{ prefix, title, about string }) bool { return strings.HasPrefix(name, f.prefix) })
		if at < 0 {
			t.Errorf("%s belongs to no family", name)
			continue
		}
		writes := map[bool]string{true: " It writes."}[mode == "WRITE"]
		fmt.Fprintf(&sections[at], "\n### %s\n\n%s%s\n\n```cypher\n%s\n```\n", name, description, writes, x.statement)
		if x.answer != "" {
			fmt.Fprintf(&sections[at], "\n```text\n%s```\n", x.answer)
		}
		fmt.Fprintf(&sections[at], "\n`%s`\n", signature)
	}
	for name := range shown {
		t.Errorf("testdata/procedures has an example of %s, which does not exist", name)
	}
	var b strings.Builder
	b.WriteString(Generated + "# Procedures\n\n`CALL` runs a procedure, and `YIELD` takes columns of its rows. `SHOW PROCEDURES` lists them too. " +
		"The last statement of an example gives the answer below it. Each example runs on this graph:\n\n```cypher\n" + people + "\n```\n")
	for i, f := range families {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n%s", f.title, f.about, sections[i].String())
	}
	Compare(t, "docs/reference/procedures.md", b.String())
}
