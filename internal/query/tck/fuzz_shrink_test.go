package tck

import (
	"reflect"

	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/cypher/parse"
)

// shrink returns a smaller statement that still fails: it leaves out or simplifies one part of the tree after another.
func shrink(text string, fails func(string) bool) string {
	for again := true; again; {
		again = false
		for k := 0; ; k++ {
			smaller, more := edit(text, k)
			if !more {
				break
			}
			if smaller != "" && len(smaller) < len(text) && fails(smaller) {
				text, again, k = smaller, true, k-1
			}
		}
	}
	return text
}

// edit creates the k-th change; more is false if there are not so many.
func edit(text string, k int) (out string, more bool) {
	s, err := parse.Statement(text)
	if err != nil {
		return "", false
	}
	e := &editor{left: k}
	e.visit(reflect.ValueOf(s))
	if e.left >= 0 {
		return "", false
	}
	defer func() {
		if recover() != nil { // a tree that cannot be printed
			out, more = "", true
		}
	}()
	return ast.Format(s), true
}

type editor struct{ left int } // below 0 when the change has been made

func (e *editor) now() bool {
	e.left--
	return e.left == -1
}

func (e *editor) visit(v reflect.Value) {
	if e.left < 0 {
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		if v.CanSet() {
			if v.Type() == reflect.TypeFor[ast.Expr]() {
				e.simplify(v)
			}
			if e.left >= 0 && e.now() {
				v.SetZero()
				return
			}
		}
		e.visit(v.Elem())
	case reflect.Slice:
		for i := 0; i < v.Len() && e.left >= 0; i++ {
			if e.now() {
				v.Set(reflect.AppendSlice(v.Slice3(0, i, i), v.Slice(i+1, v.Len())))
				return
			}
			e.visit(v.Index(i))
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && e.left >= 0; i++ {
			e.visit(v.Field(i))
		}
	case reflect.Bool:
		if v.CanSet() && v.Bool() && e.now() {
			v.SetBool(false)
		}
	}
}

// simplify puts a part of an expression, or a literal, in its place.
func (e *editor) simplify(v reflect.Value) {
	var parts []ast.Expr
	ast.Inspect(v.Interface().(ast.Expr), func(n ast.Node) bool {
		if x, ok := n.(ast.Expr); ok && n != v.Interface().(ast.Node) {
			parts = append(parts, x)
			return false
		}
		return true
	})
	for _, p := range append(parts, &ast.IntLit{Value: 1}, &ast.NullLit{}, &ast.BoolLit{Value: true}) {
		if e.now() {
			v.Set(reflect.ValueOf(p))
			return
		}
	}
}
