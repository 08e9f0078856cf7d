package fn_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/cypher/check"
	"github.com/hopgate/hopgate/internal/query/cypher/parse"
	"github.com/hopgate/hopgate/internal/query/exec/exectest"
	"github.com/hopgate/hopgate/internal/query/fn"
)

type tckCase struct {
	ID         string
	Feature    string
	Given      struct{ Setup []string }
	Parameters map[string]string
	Query      string
	Expect     struct {
		Rows  [][]string
		Order string
		Error *struct{ Type, Phase, Detail string }
	}
	Then []json.RawMessage `json:"then_queries"`
}

// TestConformance evaluates the cases of openCypher's conformance suite that need hardly any graph, if the suite lies beside the
// repository.
func TestConformance(t *testing.T) {
	f, err := os.Open("../../../../shared/tck/cases.jsonl")
	if err != nil {
		t.Skip("the conformance cases are not here")
	}
	defer f.Close()
	var passed, skipped int
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var c tckCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if e := c.Expect.Error; !strings.HasPrefix(c.Feature, "expressions/") || len(c.Then) > 0 ||
			e != nil && e.Phase == graph.PhaseCompile {
			continue
		}
		switch what, err := runCase(&c); {
		case what != "":
			skipped++
			if testing.Verbose() {
				t.Logf("skipped %s: %s", c.ID, what)
			}
		case err != nil:
			t.Errorf("%s: %s: %v", c.ID, c.Query, err)
		default:
			passed++
		}
	}
	t.Logf("%d cases passed, %d need a graph", passed, skipped)
}

func runCase(c *tckCase) (skip string, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case unsupported:
			skip = p.what
		case failure:
			err = checkError(c, p.err)
		default:
			panic(p)
		}
	}()
	now := time.Now()
	e := evaluator{ctx: &fn.Context{Statement: now, Transaction: now}, params: map[string]graph.Value{}}
	for k, text := range c.Parameters {
		e.params[k] = cell(text)
	}
	for _, text := range c.Given.Setup {
		e.create(query(text))
	}
	_, rows := e.query(query(c.Query))
	if c.Expect.Error != nil {
		return "", errors.New("no error")
	}
	var got, want []string
	for _, r := range rows {
		got = append(got, rowText(r))
	}
	for _, cells := range c.Expect.Rows {
		var r []graph.Value
		for _, text := range cells {
			r = append(r, cell(exectest.FullTimes(text)))
		}
		want = append(want, rowText(r))
	}
	if c.Expect.Order != "ordered" {
		slices.Sort(got)
		slices.Sort(want)
	}
	if !slices.Equal(got, want) {
		return "", fmt.Errorf("got %v, want %v", got, want)
	}
	return "", nil
}

func checkError(c *tckCase, err error) error {
	want := c.Expect.Error
	if want == nil {
		return err
	}
	e := graph.AsError(err)
	if e.Type != want.Type || want.Detail != "*" && e.Detail != want.Detail || want.Phase != "any" && want.Phase != e.Phase {
		return fmt.Errorf("got %s %s %s (%w), want %s %s %s", e.Type, e.Phase, e.Detail, err, want.Type, want.Phase, want.Detail)
	}
	return nil
}

func query(text string) *ast.Query {
	s, err := parse.Statement(text)
	if err != nil {
		panic(unsupported{err.Error()})
	}
	// The front end refuses float literals where integers must be, which values do not show.
	if err := check.Statement(s, check.Options{}); err != nil && graph.AsError(err).Phase == graph.PhaseRuntime {
		panic(failure{err})
	}
	q, ok := s.Body.(*ast.Query)
	if !ok {
		panic(unsupported{"command"})
	}
	return q
}

// cell reads a value in the suite's notation.
func cell(text string) graph.Value {
	x, err := parse.Expression(text)
	if err != nil || text[0] == '(' {
		panic(unsupported{"cell " + text})
	}
	var names row
	names = names.with("NaN", graph.FloatValue(math.NaN())).with("Inf", graph.FloatValue(math.Inf(1)))
	return new(evaluator).eval(names, x)
}

// rowText writes a row, floats with 14 digits, since sums may be formed in any order.
func rowText(r []graph.Value) string {
	var b strings.Builder
	for _, v := range r {
		if v.Kind() == graph.Map {
			m := slices.Clone(v.Map())
			slices.SortFunc(m, func(a, b graph.MapEntry) int { return strings.Compare(a.Key, b.Key) })
			v = graph.MapValue(m)
		}
		if v.Kind() == graph.Float {
			fmt.Fprintf(&b, "%.14g float, ", v.Float()+0) // no -0
			continue
		}
		b.Write(fn.AppendText(nil, v))
		b.WriteString(", ")
	}
	return b.String()
}
