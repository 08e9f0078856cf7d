package parse

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/hopgate/hopgate/internal/graph"
)

// tckCase is what the parser's tests need of a conformance case.
type tckCase struct {
	ID    string
	Given struct{ Setup []string }
	Query string
	Then  []struct{ Query string } `json:"then_queries"`

	Expect struct {
		Error *struct{ Type, Phase, Detail string }
	}
}

// shared finds a file beside the repository; false if it is not there.
func shared(t testing.TB, name string) (string, bool) {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			return "", false
		}
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(dir, "..", "shared", name)
	_, err = os.Stat(path)
	return path, err == nil
}

// jsonLines reads a file of one JSON value a line; nil and a log line if it is not there.
func jsonLines[T any](t testing.TB, name string) []T {
	t.Helper()
	path, ok := shared(t, name)
	if !ok {
		t.Logf("%s is not here", name)
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []T
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// corpus returns every statement that must parse: those of the conformance cases and the benchmarks.
func corpus(t testing.TB) []string {
	t.Helper()
	var out []string
	for _, c := range jsonLines[tckCase](t, "tck/cases.jsonl") {
		out = append(out, c.Given.Setup...)
		for _, q := range c.Then {
			out = append(out, q.Query)
		}
		if e := c.Expect.Error; e == nil || e.Phase == graph.PhaseRuntime {
			out = append(out, c.Query)
		}
	}
	for _, file := range []string{"data/ldbc-queries.jsonl", "data/lsqb-queries.jsonl"} {
		for _, q := range jsonLines[struct{ Statement string }](t, file) {
			out = append(out, q.Statement)
		}
	}
	return out
}

// TestCorpusParses reads all statements that must be valid.
func TestCorpusParses(t *testing.T) {
	for _, text := range corpus(t) {
		if _, err := Statement(text); err != nil {
			e := graph.AsError(err)
			t.Errorf("%s (%s)\n%s", e.Msg, e.Detail, Caret(text, e.Pos))
		}
	}
}
