package parse

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
)

// TestGolden prints statements in normal form and, where it differs, fully parenthesised; errors with the line and a caret.
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/parse", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "parse" {
				t.Fatalf("unknown command %s", d.Cmd)
			}
			s, err := Statement(d.Input)
			if err != nil {
				e := graph.AsError(err)
				return fmt.Sprintf("%s at %d:%d: %s\n%s", e.Detail, e.Pos.Line, e.Pos.Column, e.Msg, Caret(d.Input, e.Pos))
			}
			normal, full := ast.Format(s), ast.FormatFull(s)
			roundTrip(t, d.Input, s)
			if normal == full {
				return normal + "\n"
			}
			return normal + "\n----\n" + full + "\n"
		})
	})
}
