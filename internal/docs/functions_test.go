package docs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
)

// The graphs of the examples.
const (
	pair   = "CREATE (ann:Person {name: 'Ann', born: 1990})-[:KNOWS {since: 2020}]->(bob:Person {name: 'Bob', born: 1985})"
	people = `CREATE (ann:Person {name: 'Ann', born: 1990}), (bob:Person {name: 'Bob', born: 1985}),
  (cy:Person {name: 'Cy', born: 1979}), (dee:Person {name: 'Dee', born: 2001}),
  (ann)-[:KNOWS {since: 2020}]->(bob), (bob)-[:KNOWS {since: 2021}]->(cy),
  (cy)-[:KNOWS {since: 2022}]->(ann), (cy)-[:KNOWS {since: 2024}]->(dee)`
)

// example is a statement with its answer.
type example struct{ statement, answer string }

// examples runs the examples of a file, which are named after what they show, over a graph, each over its own if fresh, and compares
// the answers of their last statements.
func examples(t *testing.T, file, graph string, fresh bool) map[string]example {
	shown := map[string]example{}
	var e engine
	datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
		require.NotContains(t, shown, d.Cmd, "two examples")
		if e.Engine == nil || fresh {
			e = newEngine(t, "testdata/import")
			require.Empty(t, e.answer(graph))
		}
		var answer string
		for statement := range strings.SplitSeq(d.Input, ";\n") {
			if answer = e.answer(statement); failure(answer) != "" {
				break
			}
		}
		require.Empty(t, failure(answer), "%s", d.Input)
		shown[d.Cmd] = example{d.Input, answer}
		return answer
	})
	return shown
}

// TestFunctions runs an example of each function that SHOW FUNCTIONS lists, and compares the pages made of them.
func TestFunctions(t *testing.T) {
	shown := examples(t, "testdata/functions", pair, false)
	_, rows, err := newEngine(t, "").run("SHOW FUNCTIONS YIELD name, category, description, signature ORDER BY category, toLower(name)")
	require.NoError(t, err)
	titles := map[bool]string{
		false: "# Functions\n\nThe functions of openCypher, by category. `SHOW FUNCTIONS` lists them too. [apoc-functions.md](apoc-functions.md) has those of APOC.\n\n",
		true:  "# Functions of APOC\n\nThe functions of APOC that the server has, by their namespace. [functions.md](functions.md) has the others, and [from-neo4j.md](../howto/from-neo4j.md#apoc) what replaces the missing ones.\n\n",
	}
	pages, section := map[bool]*strings.Builder{}, ""
	for apoc, title := range titles {
		pages[apoc] = &strings.Builder{}
		pages[apoc].WriteString(Generated + title + "Examples with people run on this graph:\n\n```cypher\n" + pair + "\n```\n")
	}
	for _, row := range rows {
		x, ok := exampleOf(t, row, shown, "testdata/functions")
		if !ok {
			continue
		}
		name, category, description, signature := row[0], row[1], row[2], row[3]
		b := pages[category == "APOC"]
		if category == "APOC" {
			category = name[:strings.LastIndexByte(name, '.')]
		}
		if category != section {
			section = category
			fmt.Fprintf(b, "\n## %s\n", category)
		}
		fmt.Fprintf(b, "\n### %s\n\n%s\n\n```cypher\n%s  // %s\n```\n\n`%s`\n", name, description, x.statement, strings.TrimSuffix(x.answer, "\n"), signature)
	}
	for name := range shown {
		t.Errorf("testdata/functions has an example of %s, which does not exist", name)
	}
	Compare(t, "docs/reference/functions.md", pages[false].String())
	Compare(t, "docs/reference/apoc-functions.md", pages[true].String())
}

// exampleOf takes the example of a row of strings, the first of which is its name, out of those of a file; it makes the row's strings texts.
func exampleOf(t *testing.T, row []string, shown map[string]example, file string) (example, bool) {
	for i := range row {
		row[i] = unquote(row[i])
	}
	x, ok := shown[row[0]]
	if !ok {
		t.Errorf("%s has no example in %s", row[0], file)
	}
	delete(shown, row[0])
	return x, ok
}

// unquote returns the text of a string in a row.
func unquote(s string) string {
	return strings.NewReplacer(`\'`, `'`, `\\`, `\`).Replace(strings.TrimSuffix(strings.TrimPrefix(s, "'"), "'"))
}
