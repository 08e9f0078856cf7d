package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/procedure"
)

var (
	fenced = regexp.MustCompile("(?ms)^```.*?^```$")
	linked = regexp.MustCompile(`\]\(([^)#\s]+)`)
	quoted = regexp.MustCompile("`([^`\\s]+)`")
	// tree matches the beginning of a path of the source tree.
	tree = regexp.MustCompile(`^(api|bench|cmd|deploy|docs|examples|internal|python|tools|\.ci)/`)
)

// TestPaths checks the documents against the source tree: each link leads to a file, and so does each path in backquotes
// that begins at the root of the tree.
func TestPaths(t *testing.T) {
	documents := []string{"../README.md", "../ARCHITECTURE.md", "../CONTRIBUTING.md", "../SECURITY.md", "../CHANGELOG.md"}
	for _, pattern := range []string{"../docs/*.md", "../docs/howto/*.md", "../docs/reference/*.md", "../bench/README.md", "../bench/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, found, err)
		}
		documents = append(documents, found...)
	}
	named := 0
	for _, file := range documents {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, m := range linked.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			named++
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), m[1])); err != nil {
				t.Errorf("%s links to %s, which does not exist", file, m[1])
			}
		}
		for _, m := range quoted.FindAllStringSubmatch(string(text), -1) {
			if !tree.MatchString(m[1]) {
				continue
			}
			named++
			if found, err := filepath.Glob(filepath.Join("..", m[1])); err != nil || len(found) == 0 {
				t.Errorf("%s names %s, which does not exist", file, m[1])
			}
		}
	}
	if named < 30 {
		t.Errorf("only %d paths were found in the documents: does the test still recognise them?", named)
	}
}

// TestPrograms checks that the guides show the example programs as they are.
func TestPrograms(t *testing.T) {
	for guide, shown := range map[string]struct {
		examples string
		programs map[string]string // by the fence of their block
	}{
		"../docs/howto/query.md": {"examples/http", map[string]string{"python": "query.py", "go": "go/main.go", "javascript": "query.mjs", "java": "Query.java"}},
		"../docs/drivers.md":     {"examples/bolt", map[string]string{"python": "python/people.py", "javascript": "javascript/people.js", "go": "go/main.go", "java": "java/src/main/java/People.java"}},
	} {
		text, err := os.ReadFile(guide)
		if err != nil {
			t.Fatal(err)
		}
		for fence, file := range shown.programs {
			program, err := os.ReadFile(filepath.Join("..", shown.examples, file))
			if err != nil {
				t.Fatal(err)
			}
			_, rest, found := strings.Cut(string(text), "```"+fence+"\n")
			block, _, closed := strings.Cut(rest, "\n```\n")
			if !found || !closed || !strings.Contains(string(program), block) {
				t.Errorf("the %s block of %s is not part of %s/%s", fence, guide, shown.examples, file)
			}
		}
	}
}

// named matches the name of a procedure or, with parentheses, of a function.
var named = regexp.MustCompile("`([A-Za-z][\\w.]*)(\\(\\))?`")

// TestReplacements checks that the guide for users of Neo4j names procedures and functions that exist, in place of those of APOC and GDS.
func TestReplacements(t *testing.T) {
	text, err := os.ReadFile("../docs/howto/from-neo4j.md")
	if err != nil {
		t.Fatal(err)
	}
	procedures := procedure.New(nil).Names()
	_, tables, _ := strings.Cut(string(text), "\n## APOC\n")
	checked := 0
	for line := range strings.Lines(tables) {
		cells := strings.Split(line, " | ")
		if len(cells) != 2 {
			continue
		}
		here := cells[1]
		if strings.HasPrefix(here, "the same") {
			here += cells[0]
		}
		for _, m := range named.FindAllStringSubmatch(here, -1) {
			switch name, function := m[1], m[2] != ""; {
			case function:
				_, maps := fn.Lookup(name)
				_, aggregates := fn.LookupAggregate(name)
				if !maps && !aggregates {
					t.Errorf("there is no function %s: %s", name, line)
				}
			case !strings.Contains(name, "."): // an entry of an argument
				continue
			case !slices.Contains(procedures, name):
				t.Errorf("there is no procedure %s: %s", name, line)
			}
			checked++
		}
	}
	if checked < 50 {
		t.Errorf("only %d names were found: does the test still recognise them?", checked)
	}
}
