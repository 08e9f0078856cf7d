package cypher

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/parse"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// TestBind prints the plans of testdata/bind. The procedure test.proc exists.
func TestBind(t *testing.T) {
	procs := procedures{
		signature(t, "test.proc(in :: INTEGER?) :: (a :: INTEGER?, b :: STRING?)"),
		signature(t, "test.void() :: ()"),
		signature(t, "db.index.vector.queryNodes(indexName :: STRING, numberOfNearestNeighbours :: INTEGER, query :: ANY) :: (node :: NODE, score :: FLOAT)"),
		signature(t, "show.indexes(filter :: STRING, names :: LIST<STRING>) :: (name :: STRING, type :: STRING)"),
	}
	datadriven.Walk(t, "testdata/bind", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "bind" {
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			q, command, err := Compile(d.Input, Options{Procedures: procs.find})
			switch {
			case err != nil:
				e := graph.AsError(err)
				return e.Type + " " + e.Detail + ": " + e.Msg + "\n" + parse.Caret(d.Input, e.Pos)
			case q == nil:
				return describe(command)
			}
			validate(t, d.Pos, d.Input, q)
			out := plan.Format(q)
			if len(q.Out) > 0 {
				cols := make([]string, len(q.Out))
				for i, c := range q.Out {
					cols[i] = q.Names[i] + " = " + plan.FormatExpr(q, &plan.ColRef{Col: c})
				}
				out += "out: " + strings.Join(cols, ", ") + "\n"
			}
			return out
		})
	})
}

func describe(c Command) string { return fmt.Sprintf("%T %+v\n", c, c) }
