package tck

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan/optimize"
)

// TestRegress runs testdata/regress: cases found by TestStatements. `graph` has the statement that creates the graph, with
// index=(label,property,…) also an index; `run` runs a statement in many settings. Its answer is that of the naive evaluator: in its
// order with ordered, lists of the columns bags=(…) in any order, after the same statement with other=N literals.
func TestRegress(t *testing.T) {
	datadriven.Walk(t, "testdata/regress", func(t *testing.T, path string) {
		var setup string
		var index []graph.Index
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			args := map[string][]string{}
			for _, a := range d.CmdArgs {
				args[a.Key] = a.Vals
			}
			if d.Cmd == "graph" {
				setup, index = d.Input, nil
				if names := args["index"]; names != nil {
					index = []graph.Index{{Label: names[0], Props: names[1:], Indexed: true}}
				}
				return ""
			}
			c := &fuzzCase{setup: setup, index: index, text: d.Input, ordered: d.HasArg("ordered"), bags: map[string]bool{}}
			d.MaybeScanArgs(t, "other", &c.other)
			for _, name := range args["bags"] {
				c.bags[name] = true
			}
			want, ok := c.right()
			if !ok {
				d.Fatalf(t, "no right answer")
			}
			for _, off := range [][]string{nil, optimize.Rules()} {
				for _, s := range []fuzzSetting{
					{setting: setting{shards: 1, batch: 1, disable: off}},
					{setting: setting{shards: 3, batch: 1024, disable: off}},
					{setting: setting{shards: 3, batch: 3, disable: off}, stored: true},
					{setting: setting{shards: 1}, cached: true},
					{setting: setting{shards: 1, disable: off}, spelled: true},
				} {
					if got := c.got(s); !c.matches(got, want) {
						d.Fatalf(t, "%+v\nwant\n%s\ngot\n%s", s, want, got)
					}
				}
			}
			return want + "\n"
		})
	})
}

// save writes the case as TestRegress reads it.
func (c *fuzzCase) save(seed int64) string {
	want, _ := c.right()
	text := "graph"
	if len(c.index) == 1 && c.index[0].Label != "" {
		text += " index=(" + strings.Join(append([]string{c.index[0].Label}, c.index[0].Props...), ",") + ")"
	}
	text += "\n" + c.setup + "\n----\n\nrun"
	if c.ordered {
		text += " ordered"
	}
	if c.other > 0 {
		text += fmt.Sprint(" other=", c.other)
	}
	var bags []string
	for name, bag := range c.bags {
		if bag && strings.Contains(c.text, name) {
			bags = append(bags, name)
		}
	}
	if slices.Sort(bags); bags != nil {
		text += " bags=(" + strings.Join(bags, ",") + ")"
	}
	begin, end := "----\n", ""
	if strings.Contains("\n"+want, "\n\n") {
		begin, end = begin+begin, begin+begin
	}
	text += "\n" + c.text + "\n" + begin + want + "\n" + end
	file := filepath.Join("testdata", "regress", fmt.Sprint("seed-", seed))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err.Error()
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return err.Error()
	}
	return file
}
