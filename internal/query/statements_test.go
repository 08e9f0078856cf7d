package query

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader/resource"
	"github.com/hopgate/hopgate/internal/query/explain"
)

// TestStatements runs the statements of testdata/statements over each store and prints the columns and the rows, sorted unless the
// case says ordered, or the error; the command explain prints a plan. Arguments of a case are parameters: numbers, or else strings.
// Each file begins with an empty graph.
func TestStatements(t *testing.T) {
	overStores(t, Options{Open: resource.NewOpener("testdata/import", resource.List{}).Open}, func(t *testing.T, e *Engine) {
		datadriven.Walk(t, "testdata/statements", func(t *testing.T, path string) {
			_, err := e.rows(Request{Statement: "MATCH (n) DETACH DELETE n"})
			require.NoError(t, err)
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				req := Request{Statement: d.Input, Params: map[string]graph.Value{}}
				for _, a := range d.CmdArgs {
					if len(a.Vals) != 1 {
						continue
					}
					if n, err := strconv.ParseInt(a.Vals[0], 10, 64); err == nil {
						req.Params[a.Key] = graph.IntValue(n)
					} else {
						req.Params[a.Key] = graph.StringValue(a.Vals[0])
					}
				}
				if d.Cmd == "explain" {
					return e.showPlan(t, req)
				}
				return e.show(req, d.HasArg("ordered"))
			})
		})
	})
}

// showPlan prints the operators of a statement.
func (e *Engine) showPlan(t *testing.T, req Request) string {
	req.Statement = "EXPLAIN " + req.Statement
	res, err := e.Query(context.Background(), req)
	require.NoError(t, err)
	defer res.Close()
	var b strings.Builder
	var tree func(n *explain.Node, depth int)
	tree = func(n *explain.Node, depth int) {
		b.WriteString(strings.TrimRight(strings.Repeat("  ", depth)+n.Operator+" "+n.Args, " ") + "\n")
		for _, c := range n.Children {
			tree(c, depth+1)
		}
	}
	tree(res.Summary().Plan, 0)
	return b.String()
}

// show runs a statement and prints its result.
func (e *Engine) show(req Request, ordered bool) string {
	res, err := e.Query(context.Background(), req)
	columns := ""
	if err == nil {
		columns = strings.Join(res.Columns, " | ") + "\n"
	}
	rows, err := rowsOf(res, err)
	if err != nil {
		g := graph.AsError(err)
		at := ""
		if g.Pos.Line > 0 {
			at = " at " + strconv.Itoa(g.Pos.Line) + ":" + strconv.Itoa(g.Pos.Column)
		}
		return g.Type + " " + g.Detail + at + ": " + g.Msg + "\n"
	}
	if columns == "\n" && len(rows) == 0 {
		return "done\n"
	}
	if !ordered {
		slices.Sort(rows)
	}
	return columns + strings.Join(append(rows, ""), "\n")
}

// A random condition is one on each row, not on the statement.
func TestRandomCondition(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		must(t, e, "UNWIND range(1, 200) AS i CREATE (:N)-[:R]->(:M)")
		for _, s := range []string{
			"MATCH (n:N) WHERE rand() < 0.5 WITH count(*) AS c RETURN 0 < c AND c < 200",
			"MATCH (:N)-[r:R]->(:M) WHERE rand() < 0.5 WITH count(r) AS c RETURN 0 < c AND c < 200",
		} {
			require.Equal(t, []string{"[true]"}, must(t, e, s), s)
		}
	})
}
