package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	linked = regexp.MustCompile(`\]\(([^)#\s]+)`)
	quoted = regexp.MustCompile("`([^`\\s]+)`")
	// tree is what a path of the source tree begins with.
	tree = regexp.MustCompile(`^(api|bench|cmd|deploy|docs|examples|internal|tools|\.ci)/`)
)

// TestPaths holds the documents to the source tree: whatever they link to is there, and so is every path in backquotes
// that begins at the root of the tree.
func TestPaths(t *testing.T) {
	documents, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	documents = append(documents, "../README.md", "../ARCHITECTURE.md", "../bench/README.md")
	named := 0
	for _, file := range documents {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, m := range linked.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			named++
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", file, m[1])
			}
		}
		for _, m := range quoted.FindAllStringSubmatch(string(text), -1) {
			if !tree.MatchString(m[1]) {
				continue
			}
			named++
			if found, err := filepath.Glob(filepath.Join("..", m[1])); err != nil || len(found) == 0 {
				t.Errorf("%s names %s, which is not there", file, m[1])
			}
		}
	}
	if named < 30 {
		t.Errorf("only %d paths were found in the documents: are they still recognised?", named)
	}
}
