package docs

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/server/wire"
)

// link is a link of a document, of which the console shows the text.
var link = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)

var code = regexp.MustCompile(`"(?:Neo\.)?((?:ClientError|TransientError|DatabaseError)\.\w+\.\w+)"`)

// codes returns the codes of errors in the source.
func codes(t *testing.T) map[string]bool {
	found := map[string]bool{}
	root := os.DirFS(Path(t, "."))
	for _, top := range []string{"internal", "cmd"} {
		require.NoError(t, fs.WalkDir(root, top, func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") ||
				strings.Contains(file, "/clients/") || strings.HasSuffix(file, "gqlstatus.go") {
				return err
			}
			text, err := fs.ReadFile(root, file)
			for _, m := range code.FindAllSubmatch(text, -1) {
				found["Neo."+string(m[1])] = true
			}
			return err
		}))
	}
	require.Greater(t, len(found), 40)
	return found
}

// TestErrorsReference runs the example of each code of an error in the source, and compares the page made of them.
func TestErrorsReference(t *testing.T) {
	left := codes(t)
	left["Neo.ClientError.General.TransactionOutOfMemoryError"] = true // of gqlstatus.go
	var b strings.Builder
	meanings := map[string]string{}
	b.WriteString(Generated + `# Error codes

Every error has a code of Neo4j's form, a message, and for a statement the line and the column. A code that begins with ` + "`Neo.TransientError`" + ` is worth another try,
and drivers repeat the transaction; the others come again. HTTP has the status below, and Bolt and gRPC their own. The examples run on the graph of the
[procedures](procedures.md).
`)
	datadriven.RunTest(t, "testdata/errors", func(t *testing.T, d *datadriven.TestData) string {
		name := d.Cmd
		if !left[name] {
			t.Errorf("the source has no code %s, or testdata/errors has it twice", name)
		}
		delete(left, name)
		about, statements, _ := strings.Cut(d.Input, "\n")
		fmt.Fprintf(&b, "\n## %s\n\n%s", name, about)
		meanings[name] = link.ReplaceAllString(about, "$1")
		if statements == "" {
			var status string
			d.ScanArgs(t, "http", &status)
			fmt.Fprintf(&b, " HTTP status %s.\n", status)
			return ""
		}
		e := newEngine(t, "")
		require.Empty(t, e.answer(people))
		list := strings.Split(statements, ";\n")
		for _, s := range list[:len(list)-1] {
			e.answer(s)
		}
		columns, rows, err := e.run(list[len(list)-1])
		answer := show(columns, rows, err)
		if !strings.HasPrefix(answer, name+": ") {
			t.Errorf("the example of %s gives %s", name, answer)
		}
		fmt.Fprintf(&b, " HTTP status %d.\n\n```cypher\n%s\n```\n\n```text\n%s```\n", wire.HTTPStatus(err), statements, answer)
		return answer
	})
	for name := range left {
		t.Errorf("testdata/errors lacks %s", name)
	}
	Compare(t, "docs/reference/errors.md", b.String())

	text, err := json.MarshalIndent(meanings, "", "  ")
	require.NoError(t, err)
	Compare(t, "internal/console/static/errors.js", "// Made from internal/docs/testdata/errors by make reference.\n\n/** What each code of an error means and what to do. */\nexport const meanings = "+string(text)+";\n")
}
