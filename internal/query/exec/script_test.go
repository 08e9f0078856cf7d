package exec_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/exec/exectest"
	"github.com/hopgate/hopgate/internal/query/plan/optimize"
	"github.com/hopgate/hopgate/internal/shard"
)

// TestScripts runs the statements of testdata/exec, each with several sizes of batches, which must give the same rows.
//
//	graph             an empty graph, on which the statements of the input, one a line, are run
//	run [sort]        a statement on a copy of the graph; sort is for rows without an order
//	write             likewise, and the graph stays changed; prints the counters
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/exec", func(t *testing.T, path string) {
		var done []string // the statements that made the graph
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "graph":
				done = nil
				for s := range strings.SplitSeq(d.Input, "\n") {
					if s != "" {
						done = append(done, s)
					}
				}
				build(t, done)
				return ""
			case "run", "write":
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			var first string
			for _, size := range []int{1024, 1, 3} {
				out := script(build(t, done), d.Input, size, d.HasArg("sort"), d.Cmd == "write")
				if first == "" {
					first = out
				}
				require.Equal(t, first, out, "%s: batches of %d", d.Pos, size)
			}
			if d.Cmd == "write" {
				done = append(done, d.Input)
			}
			return first
		})
	})
}

func build(t *testing.T, statements []string) shard.Graph {
	g := oracle.NewGraph(1)
	for _, s := range statements {
		_, err := statement(g, s, 1024)
		require.NoError(t, err, s)
	}
	return g
}

func statement(g shard.Graph, text string, size int) (*exectest.Result, error) {
	q, _, err := cypher.Compile(text, cypher.Options{})
	if err != nil {
		return nil, err
	}
	tx, err := g.Begin(context.Background(), shard.Read)
	if err != nil {
		return nil, err
	}
	optimize.Plan(q, optimize.Env{Counts: tx.Statistics(), Indexes: g.Indexes(), Features: g.Features()})
	tx.Rollback()
	params := map[string]graph.Value{
		"list": graph.ListValue([]graph.Value{graph.IntValue(1), graph.IntValue(2), graph.IntValue(3), graph.IntValue(4), graph.IntValue(5)}),
	}
	return exectest.Run(context.Background(), g, q, exec.Options{BatchSize: size}, exec.Env{Params: params})
}

func script(g shard.Graph, text string, size int, sorted, counters bool) string {
	res, err := statement(g, text, size)
	if err != nil {
		e := graph.AsError(err)
		return fmt.Sprintf("%s %s %s: %s\n", e.Type, e.Phase, e.Detail, e.Error())
	}
	var rows []string
	for _, r := range res.Rows {
		rows = append(rows, exectest.ShowRow(r)+"\n")
	}
	if sorted {
		slices.Sort(rows)
	}
	out := strings.Join(res.Columns, ", ") + "\n" + strings.Join(rows, "")
	if counters {
		out += fmt.Sprintf("%+v\n", res.Counters)
	}
	return out
}
