package tck

import (
	"sort"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec"
)

// TestExtra runs testdata/extra, which covers cases beyond the conformance suite. `graph` empties the graph and runs the statements
// of its input; `run` prints a statement's answer, sorted unless its last RETURN has an ORDER BY. A caller under rules, whose graph has more
// than it may see, gets the same answers.
func TestExtra(t *testing.T) {
	for _, s := range []struct {
		setting
		ruled bool
	}{{setting: setting{shards: 1}}, {setting: setting{shards: 3, batch: 1}}, {setting: setting{shards: 1}, ruled: true}} {
		fresh := func(t *testing.T, statements ...string) *engine {
			e := newEngine(s.setting, nil)
			if s.ruled {
				e = newGuarded(t, s.setting)
			}
			for _, statement := range statements {
				if _, err := e.run(statement, nil); err != nil {
					t.Fatalf("%s: %v", statement, err)
				}
			}
			if s.ruled {
				require.NoError(t, e.rule(true))
			}
			return e
		}
		datadriven.Walk(t, "testdata/extra", func(t *testing.T, path string) {
			e := fresh(t)
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				switch d.Cmd {
				case "graph":
					e = fresh(t, strings.Split(d.Input, ";")...)
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

// With little memory and a disk, a subquery returns what it returns with much, or ends: rows of several outer rows do not mix on the disk.
func TestSubqueriesInLittleMemory(t *testing.T) {
	spill, err := exec.NewSpill(t.TempDir(), 1<<30)
	require.NoError(t, err)
	for _, inner := range []string{
		"RETURN i % 15000 AS k, count(*) AS c", "RETURN count(*) AS k, count(DISTINCT i) AS c", "WITH DISTINCT i RETURN max(i) AS k, count(*) AS c",
		"WITH i ORDER BY -i SKIP 10000 RETURN i AS k, 1 AS c", "RETURN 1 AS k, size(collect(i)) AS c",
	} {
		text := "UNWIND range(1, 2) AS o CALL (o) { UNWIND range(1, 20000) AS i " + inner + " } RETURN o, count(k) AS k, sum(c) AS c"
		want, err := newEngine(setting{shards: 1}, nil).run(text, nil)
		require.NoError(t, err)
		for _, bytes := range []int64{200 << 10, 1 << 20} {
			got, err := newEngine(setting{shards: 1, bytes: bytes, spill: spill}, nil).run(text, nil)
			if err != nil {
				require.Equal(t, graph.KindBudget, graph.AsError(err).Kind, text)
				continue
			}
			require.Equal(t, want.rows, got.rows, text)
		}
	}
}
