package docs

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/cockroachdb/datadriven" // defines -rewrite
)

// Path returns the path of a file by its path in the source tree.
func Path(t testing.TB, file string) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "mkdocs.yml")); err == nil {
			return filepath.Join(dir, file)
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		t.Fatal("the test does not run in the source tree")
	}
}

// Compare fails if a file of the source tree is not as it would be made now. With -rewrite it writes the file.
func Compare(t testing.TB, file, made string) {
	t.Helper()
	path := Path(t, file)
	if flag.Lookup("rewrite").Value.String() == "true" {
		if err := os.WriteFile(path, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) == made {
		return
	}
	line, old, now := firstDifference(string(text), made)
	t.Errorf("%s is stale at line %d: make reference writes it.\nit has    %q\nthe code  %q", file, line, old, now)
}

// firstDifference returns the number of the first line in which two texts differ, and the line in each.
func firstDifference(a, b string) (line int, inA, inB string) {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(as), len(bs)) {
		inA, inB = "", ""
		if i < len(as) {
			inA = as[i]
		}
		if i < len(bs) {
			inB = bs[i]
		}
		if inA != inB || i >= len(as) || i >= len(bs) {
			return i + 1, inA, inB
		}
	}
	return 0, "", ""
}

// Generated begins every page that is made from the code.
const Generated = "<!-- Made from the code by make reference. -->\n\n"
