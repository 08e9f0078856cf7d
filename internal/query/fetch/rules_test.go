package fetch_test

import (
	"strconv"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
)

// TestRules runs requests of several callers under access rules. The argument caller is a caller's key; known makes a caller without one
// known, and admin makes it one; the command rules replaces the rules.
func TestRules(t *testing.T) {
	w := newWorld(t, 2)
	w.load(small)
	datadriven.RunTest(t, "testdata/rules", func(t *testing.T, d *datadriven.TestData) string {
		w.t = t
		if d.Cmd == "rules" {
			rules, err := syntax.ParseRules([]byte(d.Input))
			if err != nil {
				return err.Error()
			}
			w.rules = rules
			return "ok"
		}
		w.caller = syntax.Caller{Known: d.HasArg("known"), Admin: d.HasArg("admin")}
		if d.HasArg("caller") {
			var key string
			d.ScanArgs(t, "caller", &key)
			id, err := strconv.ParseInt(key, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			w.caller.Known, w.caller.ID = true, graph.IntValue(id)
		}
		return pretty(took.ReplaceAllString(w.fetch(d.Cmd, d.Input), `"time":0`))
	})
}
