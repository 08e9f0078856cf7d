package tck

import (
	"sort"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestExtra runs testdata/extra, which covers cases beyond the conformance suite. `graph` empties the graph and runs the statements
// of its input; `run` prints a statement's answer, sorted unless its last RETURN has an ORDER BY.
func TestExtra(t *testing.T) {
	for _, s := range []setting{{shards: 1}, {shards: 3, batch: 1}} {
		datadriven.Walk(t, "testdata/extra", func(t *testing.T, path string) {
			e := newEngine(s, nil)
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				switch d.Cmd {
				case "graph":
					e = newEngine(s, nil)
					for statement := range strings.SplitSeq(d.Input, ";") {
						if _, err := e.run(statement, nil); err != nil {
							d.Fatalf(t, "%s: %v", statement, err)
						}
					}
					return ""
				case "run":
					a, err := e.run(d.Input, nil)
					if err != nil {
						return describe(err) + "\n"
					}
					rows := make([]string, len(a.rows))
					for i, r := range a.rows {
						rows[i] = strings.TrimSuffix(strings.TrimPrefix(show(r), "["), "]")
					}
					if last := strings.LastIndex(d.Input, "RETURN"); last < 0 || !strings.Contains(d.Input[last:], "ORDER BY") {
						sort.Strings(rows)
					}
					if len(rows) == 0 {
						rows = []string{"no rows"}
					}
					return strings.Join(a.columns, " | ") + "\n" + strings.Join(rows, "\n") + "\n"
				}
				d.Fatalf(t, "unknown command %s", d.Cmd)
				return ""
			})
		})
	}
}
