package parse

import (
	"reflect"
	"testing"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
)

// bare clears what a normal form cannot keep: places, source texts and deprecated forms.
func bare(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			bare(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			bare(v.Index(i))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[graph.Pos]() {
			v.SetZero()
			return
		}
		if item := reflect.TypeFor[ast.ProjectionItem](); v.Type() == item {
			v.FieldByName("Text").SetZero()
		}
		if v.Type() == reflect.TypeFor[ast.Statement]() {
			v.FieldByName("Deprecated").SetZero()
		}
		for _, field := range v.Fields() {
			bare(field)
		}
	}
}

// roundTrip checks that both printed forms of a statement parse to the same tree, and that printing is stable.
func roundTrip(t *testing.T, text string, s *ast.Statement) {
	t.Helper()
	bare(reflect.ValueOf(s))
	for _, format := range []func(ast.Node) string{ast.Format, ast.FormatFull} {
		printed := format(s)
		again, err := Statement(printed)
		if err != nil {
			e := graph.AsError(err)
			t.Fatalf("%s\nprints as\n%s\nwhich does not parse: %s\n%s", text, printed, e.Msg, Caret(printed, e.Pos))
		}
		bare(reflect.ValueOf(again))
		if !reflect.DeepEqual(s, again) {
			t.Fatalf("%s\nprints as\n%s\nwhich parses to another tree, printed\n%s\nfully\n%s", text, printed, format(again), ast.FormatFull(again))
		}
	}
}
