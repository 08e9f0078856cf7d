package tck

import (
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
)

// claimOf reads a claim as it is written in a script: a number, a list of words in square brackets, or a word.
func claimOf(s string) graph.Value {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return graph.IntValue(n)
	}
	if list, ok := strings.CutPrefix(s, "["); ok {
		var all []graph.Value
		for word := range strings.SplitSeq(strings.TrimSuffix(list, "]"), ";") {
			all = append(all, claimOf(word))
		}
		return graph.ListValue(all)
	}
	return graph.StringValue(s)
}

// TestPrivileges runs testdata/privileges, which has the examples of Neo4j's manual of privileges, and ours beyond it. `graph` makes a graph by
// the statements of its input, `rules` runs each line of its input as an admin, and `run role=r claim=name:value` prints a caller's answer,
// sorted.
func TestPrivileges(t *testing.T) {
	datadriven.Walk(t, "testdata/privileges", func(t *testing.T, path string) {
		var e *engine
		run := func(statement string) (string, error) {
			a, err := e.cached(statement)
			if err != nil {
				return "", err
			}
			lines := make([]string, len(a.rows))
			for i, row := range a.rows {
				lines[i] = strings.TrimSuffix(strings.TrimPrefix(show(row), "["), "]")
			}
			sort.Strings(lines)
			return strings.Join(append(lines, ""), "\n"), nil
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "graph":
				e = newGuarded(t, setting{shards: 2})
				fallthrough
			case "rules":
				e.ctx = nil
				for statement := range strings.SplitSeq(d.Input, "\n") {
					if _, err := run(strings.TrimSuffix(statement, ";")); err != nil {
						return describe(err) + "\n"
					}
				}
				return ""
			}
			id := &access.Identity{Name: "ann", Claims: map[string]graph.Value{}}
			for _, arg := range d.CmdArgs {
				for _, v := range arg.Vals {
					if r, err := access.ParseRole(v); arg.Key == "role" && err == nil {
						id.Every = max(id.Every, r)
					} else if arg.Key == "role" {
						id.Roles = append(id.Roles, v)
					} else {
						name, value, _ := strings.Cut(v, ":")
						id.Claims[name] = claimOf(value)
					}
				}
			}
			e.ctx = access.WithIdentity(t.Context(), id)
			out, err := run(d.Input)
			if err != nil {
				return describe(err) + "\n"
			}
			if out == "" {
				return "no rows\n"
			}
			return out
		})
	})
}
