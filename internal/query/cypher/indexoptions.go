package cypher

import (
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// indexOptions checks the OPTIONS that Neo4j's statements have for an index. They name its kind and, for points, the extent of
// Neo4j's space-filling curve. The curve here needs none, so a valid extent changes nothing.
func (b *commands) indexOptions(kind graph.IndexKind, e ast.Expr) {
	if e == nil {
		return
	}
	m, ok := e.(*ast.MapLit)
	if !ok {
		b.unsupported(e, "a parameter as OPTIONS of an index or a constraint is")
		return
	}
	for _, o := range m.Entries {
		text, isText := o.Value.(*ast.StringLit)
		config, isMap := o.Value.(*ast.MapLit)
		switch {
		case o.Key == "indexProvider" && isText && text.Value == kind.Provider():
		case o.Key == "indexConfig" && isMap && kind == graph.PointIndex:
			b.extents(config)
		case o.Key == "indexConfig" && isMap && len(config.Entries) == 0:
		default:
			config := "{}"
			if kind == graph.PointIndex {
				config = "{`spatial.cartesian.min`: […], …}"
			}
			b.unsupported(o, "OPTIONS but {indexProvider: '"+kind.Provider()+"', indexConfig: "+config+"} are")
			return
		}
	}
}

// extents checks the settings of a point index: spatial.cartesian.min, for example, is a list of one number for each coordinate
// of the system, each less than in spatial.cartesian.max.
func (b *commands) extents(config *ast.MapLit) {
	bounds := map[string][]float64{}
	for _, o := range config.Entries {
		system, end, _ := strings.Cut(strings.TrimPrefix(o.Key, "spatial."), ".")
		crs, known := graph.ParseCRS(system)
		if !known || o.Key != "spatial."+crs.String()+".min" && o.Key != "spatial."+crs.String()+".max" {
			b.fail(graph.SyntaxError("InvalidArgumentValue", o.Pos, "a point index has no setting %s; it has spatial.cartesian.min, for example", o.Key))
			return
		}
		numbers, ok := literalNumbers(o.Value)
		if !ok || len(numbers) != crs.Dimensions() {
			b.fail(graph.SyntaxError("InvalidArgumentValue", o.Pos, "%s is a list of %d numbers", o.Key, crs.Dimensions()))
			return
		}
		bounds[o.Key] = numbers
		other := bounds["spatial."+crs.String()+"."+map[string]string{"min": "max", "max": "min"}[end]]
		for i := range other {
			if end == "min" && numbers[i] >= other[i] || end == "max" && numbers[i] <= other[i] {
				b.fail(graph.SyntaxError("InvalidArgumentValue", o.Pos, "spatial.%s.min is less than spatial.%[1]s.max in each coordinate", crs))
				return
			}
		}
	}
}

// literalNumbers reads a list of numbers.
func literalNumbers(e ast.Expr) ([]float64, bool) {
	l, ok := e.(*ast.ListLit)
	if !ok {
		return nil, false
	}
	var out []float64
	for _, e := range l.Items {
		sign := 1.0
		if u, ok := e.(*ast.Unary); ok && u.Op == ast.OpNeg {
			sign, e = -1, u.Operand
		}
		switch n := e.(type) {
		case *ast.IntLit:
			out = append(out, sign*float64(n.Value))
		case *ast.FloatLit:
			out = append(out, sign*n.Value)
		default:
			return nil, false
		}
	}
	return out, true
}

// settings binds the OPTIONS of something, which may hold parameters: toInteger($dimensions), for example.
func (b *commands) settings(of string, e ast.Expr) plan.Expr {
	if e == nil {
		return nil
	}
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.MapLit, *ast.MapEntry, *ast.ListLit, *ast.Parameter, *ast.StringLit, *ast.IntLit, *ast.FloatLit, *ast.BoolLit, *ast.NullLit:
			return true
		case *ast.Unary:
			if n.Op == ast.OpNeg {
				return true
			}
		case *ast.Call:
			if f, ok := fn.Builtin(n.Name); ok && f.Eval != nil && f.Deterministic && !n.Distinct && len(n.Args) >= f.MinArgs && (f.MaxArgs < 0 || len(n.Args) <= f.MaxArgs) {
				return true
			}
		}
		b.unsupported(n, "OPTIONS of "+of+" but literals, parameters and functions of them are")
		return false
	})
	if b.err != nil {
		return nil
	}
	return b.expr(e)
}
