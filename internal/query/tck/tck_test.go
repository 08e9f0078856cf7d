package tck

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/hopgate/hopgate/internal/conformance"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/cypher/parse"
	"github.com/hopgate/hopgate/internal/query/exec/exectest"
)

var (
	filter = flag.String("case", "", "run and explain only the cases whose id matches")
	accept = flag.Bool("accept", false, "add the cases that pass now to testdata/passing")
)

// conformanceCase is a line of cases.jsonl.
type conformanceCase struct {
	ID         string
	Tags       []string
	Given      struct{ Setup []string }
	Parameters map[string]string
	Procedures []struct {
		Signature string
		Columns   []string
		Rows      [][]string
	}
	Query       string
	Expect      expectation
	SideEffects map[string]int `json:"side_effects"`
	Then        []struct {
		Query  string
		Expect expectation
	} `json:"then_queries"`
}

type expectation struct {
	Columns        []string
	Rows           [][]string
	Order          string
	ListsUnordered bool `json:"lists_unordered"`
	Empty          bool
	Error          *struct{ Type, Phase, Detail string }
}

// cases returns the conformance cases.
func cases(t testing.TB) []conformanceCase {
	t.Helper()
	all := conformance.Cases[conformanceCase](t, conformance.OpenCypher)
	return slices.DeleteFunc(all, func(c conformanceCase) bool { return slices.Contains(c.Tags, "@ignore") })
}

// TestConformance runs every case. The ids in testdata/passing must pass; the list may only grow.
func TestConformance(t *testing.T) {
	all := cases(t)
	passing := readPassing(t)
	failed := runAll(all, setting{shards: 1})
	var now []string
	for _, c := range all {
		err := failed[c.ID]
		switch {
		case err == nil:
			now = append(now, c.ID)
		case passing[c.ID]:
			t.Errorf("%s passed before: %v\n%s", c.ID, err, c.Query)
		}
		if *filter != "" && regexp.MustCompile(*filter).MatchString(c.ID) && err != nil {
			t.Logf("%s: %v\n%s\n%s", c.ID, err, strings.Join(c.Given.Setup, "\n"), c.Query)
		}
	}
	t.Logf("%d of %d cases pass", len(now), len(all))
	conformance.OpenCypher.Ran(t, "engine", len(all))
	if *accept {
		for id := range passing {
			if !slices.Contains(now, id) {
				now = append(now, id)
			}
		}
		sort.Strings(now)
		if err := os.WriteFile(passingFile, []byte(strings.Join(now, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSettingsAgree runs the passing cases with small batches and several shards, and with literals as parameters; a short test runs each case
// in one of both ways.
func TestSettingsAgree(t *testing.T) {
	passing := readPassing(t)
	all := slices.DeleteFunc(cases(t), func(c conformanceCase) bool { return !passing[c.ID] })
	for n, s := range []setting{{shards: 3, batch: 1, parallel: true}, {shards: 1, batch: 3, lift: true}} {
		some := all
		if testing.Short() {
			some = nil
			for i := n; i < len(all); i += 2 {
				some = append(some, all[i])
			}
		}
		failed := runAll(some, s)
		conformance.OpenCypher.Ran(t, "other settings", len(some))
		for _, id := range slices.Sorted(maps.Keys(failed)) {
			t.Errorf("%d shards, batches of %d: %s: %v", s.shards, s.batch, id, failed[id])
		}
	}
}

const passingFile = "testdata/passing"

func readPassing(t testing.TB) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(passingFile)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for id := range strings.SplitSeq(string(text), "\n") {
		if id != "" {
			out[id] = true
		}
	}
	return out
}

// runAll runs cases concurrently and returns the failures by id.
func runAll(all []conformanceCase, s setting) map[string]error {
	var mu sync.Mutex
	var wg sync.WaitGroup
	failed := map[string]error{}
	work := make(chan conformanceCase)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for c := range work {
				if err := run(c, s); err != nil {
					mu.Lock()
					failed[c.ID] = err
					mu.Unlock()
				}
			}
		})
	}
	for _, c := range all {
		work <- c
	}
	close(work)
	wg.Wait()
	return failed
}

// run runs one case in an engine and returns its failure.
func run(c conformanceCase, s setting) error {
	var procs []procedure
	for _, p := range c.Procedures {
		x, err := parseProcedure(p.Signature, p.Rows)
		if err != nil {
			return err
		}
		procs = append(procs, x)
	}
	if err := prints(c.Query); err != nil {
		return err
	}
	return c.run(newEngine(s, procs))
}

// runner runs statements on a graph.
type runner interface {
	run(statement string, params map[string]graph.Value) (*answer, error)
}

// run runs the case on an empty graph and returns its failure.
func (c *conformanceCase) run(e runner) error {
	params := map[string]graph.Value{}
	for name, text := range c.Parameters {
		v, err := parseValue(text)
		if err != nil {
			return err
		}
		params[name] = graphValue(v)
	}
	for _, q := range c.Given.Setup {
		if _, err := e.run(q, nil); err != nil {
			return fmt.Errorf("setup: %s", describe(err))
		}
	}
	before, err := stateOf(e)
	if err != nil {
		return err
	}
	got, err := e.run(c.Query, params)
	if err := judge(c.Expect, got, err); err != nil {
		return err
	}
	if c.SideEffects != nil {
		after, err := stateOf(e)
		if err != nil {
			return err
		}
		if changes := before.changes(after); !maps.Equal(changes, c.SideEffects) {
			return fmt.Errorf("side effects: wanted %v, got %v", c.SideEffects, changes)
		}
		if got != nil {
			if err := before.agrees(after, got); err != nil {
				return err
			}
		}
	}
	for _, q := range c.Then {
		got, err := e.run(q.Query, nil)
		if err := judge(q.Expect, got, err); err != nil {
			return fmt.Errorf("control query: %w", err)
		}
	}
	return nil
}

// prints checks that both printed forms of a statement that parses mean the same.
func prints(text string) error {
	s, err := parse.Statement(text)
	if err != nil {
		return nil //nolint:nilerr // the case may want it
	}
	full := ast.FormatFull(s)
	for _, form := range []string{ast.Format(s), full} {
		again, err := parse.Statement(form)
		if err != nil {
			return fmt.Errorf("printed as %s: %s", form, describe(err))
		}
		if ast.FormatFull(again) != full {
			return fmt.Errorf("printed as %s: it means another statement", form)
		}
	}
	return nil
}

func describe(err error) string {
	e := graph.AsError(err)
	return fmt.Sprintf("%s/%s/%s %v", e.Type, e.Phase, e.Detail, err)
}

// judge compares an answer or an error with the expected one.
func judge(want expectation, got *answer, err error) error {
	switch {
	case want.Error != nil && err == nil:
		return fmt.Errorf("no error: wanted %v, got %d rows", *want.Error, len(got.rows))
	case want.Error != nil:
		e, w := graph.AsError(err), want.Error
		if e.Type != w.Type || w.Phase != "any" && e.Phase != w.Phase || w.Detail != "*" && e.Detail != w.Detail {
			return fmt.Errorf("error: wanted %v, got %s", *w, describe(err))
		}
		// Which parameters a request has is known when it runs, so their absence has no place.
		if e.Phase == graph.PhaseCompile && e.Pos.Line == 0 && e.Type != "ParameterMissing" {
			return fmt.Errorf("no place: %s", describe(err))
		}
		return nil
	case err != nil:
		return fmt.Errorf("unexpected error: %s", describe(err))
	case want.Empty:
		if len(got.rows) > 0 {
			return fmt.Errorf("rows: wanted none, got %d", len(got.rows))
		}
		return nil
	case !slices.Equal(want.Columns, got.columns):
		return fmt.Errorf("columns: wanted %q, got %q", want.Columns, got.columns)
	}
	var rows [][]any
	for _, r := range want.Rows {
		var row []any
		for _, cell := range r {
			v, err := parseValue(exectest.FullTimes(cell))
			if err != nil {
				return err
			}
			row = append(row, v)
		}
		rows = append(rows, row)
	}
	equal := func(a, b []any) bool {
		return slices.EqualFunc(a, b, func(x, y any) bool { return same(x, y, want.ListsUnordered) })
	}
	if want.Order == "ordered" && !slices.EqualFunc(rows, got.rows, equal) || !sameBag(rows, got.rows, equal) {
		return fmt.Errorf("rows: wanted %s, got %s", showRows(rows), showRows(got.rows))
	}
	return nil
}

func showRows(rows [][]any) string {
	var b strings.Builder
	for i, r := range rows {
		if i == 20 {
			fmt.Fprintf(&b, "… %d rows", len(rows))
			break
		}
		b.WriteString(show(r) + " ")
	}
	return b.String()
}

// state is what a graph holds, as queries see it.
type state struct {
	things map[string]map[string]bool // kind to set of names
}

func stateOf(e runner) (*state, error) {
	s := &state{things: map[string]map[string]bool{"nodes": {}, "relationships": {}, "labels": {}, "properties": {}}}
	for kind, q := range map[string]string{"nodes": "MATCH (n) RETURN n", "relationships": "MATCH ()-[r]->() RETURN r"} {
		a, err := e.run(q, nil)
		if err != nil {
			return nil, fmt.Errorf("state: %s", describe(err))
		}
		for i, row := range a.rows {
			id := fmt.Sprint(kind, a.entities[i])
			s.things[kind][id] = true
			var props map[string]any
			switch x := row[0].(type) {
			case *node:
				props = x.props
				for _, l := range x.labels {
					s.things["labels"][l] = true
				}
			case *rel:
				props = x.props
			}
			for k, v := range props {
				s.things["properties"][id+" "+k+" "+show(v)] = true
			}
		}
	}
	return s, nil
}

func (s *state) changes(after *state) map[string]int {
	out := map[string]int{}
	count := func(sign string, a, b *state) {
		for kind, set := range a.things {
			for x := range set {
				if !b.things[kind][x] {
					out[sign+kind]++
				}
			}
		}
	}
	count("-", s, after)
	count("+", after, s)
	return out
}

// agrees reports whether the counters of an answer match the changes.
func (s *state) agrees(after *state, a *answer) error {
	c := a.counters
	for kind, said := range map[string]int64{
		"nodes": c.NodesCreated - c.NodesDeleted, "relationships": c.RelationshipsCreated - c.RelationshipsDeleted,
	} {
		if seen := int64(len(after.things[kind]) - len(s.things[kind])); said != seen {
			return fmt.Errorf("counters: %s %+d, the graph %+d", kind, said, seen)
		}
	}
	if len(s.changes(after)) > 0 && !c.ContainsUpdates() {
		return errors.New("counters: no updates")
	}
	return nil
}
