package cypher

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/hopgate/hopgate/internal/graph"
)

// tckCase is what the binder's tests need of a conformance case.
type tckCase struct {
	ID         string
	Given      struct{ Setup []string }
	Query      string
	Procedures []struct{ Signature string }
	Then       []struct{ Query string } `json:"then_queries"`
	Expect     struct {
		Error *struct{ Type, Phase, Detail string }
	}
}

// shared opens a file beside the repository and skips the test if it is not there.
func shared(t testing.TB, name string) *os.File {
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
			t.Skip("no repository")
		}
		dir = filepath.Dir(dir)
	}
	f, err := os.Open(filepath.Join(dir, "..", "shared", name))
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func jsonLines[T any](t testing.TB, name string) []T {
	t.Helper()
	var out []T
	lines := bufio.NewScanner(shared(t, name))
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

// TestCorpusBinds binds every statement of the conformance cases and the benchmarks that is not wrong.
func TestCorpusBinds(t *testing.T) {
	try := func(id, text string, opts Options) {
		q, _, err := Compile(text, opts)
		if err != nil {
			e := graph.AsError(err)
			if e.Phase == graph.PhaseRuntime { // where openCypher leaves a mistake to the run
				return
			}
			t.Errorf("%s: %s (%s %s)\n%s", id, e.Msg, e.Detail, e.Type, text)
			return
		}
		if q != nil {
			validate(t, id, text, q)
		}
	}
	for _, c := range jsonLines[tckCase](t, "tck/cases.jsonl") {
		var procs procedures
		for _, p := range c.Procedures {
			procs = append(procs, signature(t, p.Signature))
		}
		opts := Options{Procedures: procs.find}
		for _, s := range c.Given.Setup {
			try(c.ID, s, opts)
		}
		for _, s := range c.Then {
			try(c.ID, s.Query, opts)
		}
		if e := c.Expect.Error; e == nil || e.Phase == graph.PhaseRuntime {
			try(c.ID, c.Query, opts)
		}
	}
	for _, file := range []string{"data/ldbc-queries.jsonl", "data/lsqb-queries.jsonl"} {
		for _, q := range jsonLines[struct{ Name, Statement string }](t, file) {
			try(q.Name, q.Statement, Options{})
		}
	}
}
