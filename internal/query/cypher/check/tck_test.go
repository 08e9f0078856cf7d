package check_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/check"
	"github.com/hopgate/hopgate/internal/query/cypher/parse"
)

// tckCase is what these tests need of a conformance case.
type tckCase struct {
	ID         string
	Given      struct{ Setup []string }
	Procedures []struct{ Signature string }
	Query      string
	Then       []struct{ Query string } `json:"then_queries"`

	Expect struct {
		Error *struct{ Type, Phase, Detail string }
	}
}

// lines calls f for every line of a file beside the repository. It returns false if the file does not exist.
func lines(t *testing.T, name string, f func([]byte)) bool {
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
			return false
		}
		dir = filepath.Dir(dir)
	}
	file, err := os.Open(filepath.Join(dir, "..", "shared", name))
	if err != nil {
		return false
	}
	defer file.Close()
	in := bufio.NewScanner(file)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		f(in.Bytes())
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	return true
}

// front parses and checks.
func front(text string, o check.Options) error {
	s, err := parse.Statement(text)
	if err != nil {
		return err
	}
	return check.Statement(s, o)
}

// runtimeOnly are the cases whose compile-time error depends on the request, not on the statement.
var runtimeOnly = map[string]string{
	"ParameterMissing": "which parameters a request has is known when it runs",
}

// TestTCK checks the front end against the conformance cases: valid statements pass, and compile-time errors are those expected.
func TestTCK(t *testing.T) {
	n := 0
	found := lines(t, "tck/cases.jsonl", func(line []byte) {
		var c tckCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		n++
		o := check.Options{Procedures: map[string]check.Procedure{}}
		for _, p := range c.Procedures {
			sig, err := check.ParseProcedure(p.Signature)
			if err != nil {
				t.Fatal(err)
			}
			o.Procedures[strings.ToLower(sig.Name)] = sig
		}
		valid := c.Given.Setup
		for _, q := range c.Then {
			valid = append(valid, q.Query)
		}
		for _, q := range valid {
			if err := front(q, o); err != nil {
				t.Errorf("%s: %s\n%v", c.ID, q, err)
			}
		}
		err := front(c.Query, o)
		want := c.Expect.Error
		switch {
		case want == nil, want.Phase == graph.PhaseRuntime, runtimeOnly[want.Type] != "":
			if e := graph.AsError(err); err != nil && (want == nil || e.Phase != graph.PhaseRuntime) {
				t.Errorf("%s: unexpected %s/%s: %s\n%s", c.ID, e.Type, e.Detail, e.Msg, parse.Caret(c.Query, e.Pos))
			}
		case err == nil:
			if want.Phase == graph.PhaseCompile {
				t.Errorf("%s: passes, want %s/%s\n%s", c.ID, want.Type, want.Detail, c.Query)
			}
		default:
			e := graph.AsError(err)
			if e.Type != want.Type || e.Phase != graph.PhaseCompile || want.Detail != "*" && e.Detail != want.Detail || e.Pos.Line == 0 {
				t.Errorf("%s: %s/%s, want %s/%s: %s\n%s", c.ID, e.Type, e.Detail, want.Type, want.Detail, e.Msg, parse.Caret(c.Query, e.Pos))
			}
		}
	})
	t.Logf("%d cases, file there: %v", n, found)
}

// TestBenchmarkStatements checks that the benchmarks' statements pass.
func TestBenchmarkStatements(t *testing.T) {
	for _, file := range []string{"data/ldbc-queries.jsonl", "data/lsqb-queries.jsonl"} {
		found := lines(t, file, func(line []byte) {
			var q struct{ Name, Statement string }
			if err := json.Unmarshal(line, &q); err != nil {
				t.Fatal(err)
			}
			if err := front(q.Statement, check.Options{}); err != nil {
				e := graph.AsError(err)
				t.Errorf("%s: %s/%s: %s\n%s", q.Name, e.Type, e.Detail, e.Msg, parse.Caret(q.Statement, e.Pos))
			}
		})
		if !found {
			t.Logf("%s is not here", file)
		}
	}
}
