package naive

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hopgate/hopgate/internal/query/cypher/ast"
)

var aggregates = []string{"count", "sum", "avg", "min", "max", "collect"}

// call calls a function. A null argument yields null, except for the functions named first.
func (m *machine) call(e *ast.Call, r Row) any {
	name := strings.ToLower(e.Name)
	args := m.all(e.Args, r)
	switch name {
	case "coalesce":
		for _, a := range args {
			if a != nil {
				return a
			}
		}
		return nil
	}
	if slices.Contains(args, nil) {
		return nil
	}
	if slices.ContainsFunc(args, func(a any) bool { l, ok := a.([]any); return ok && l == nil }) {
		return nil
	}
	switch name {
	case "date":
		return dateOf(args[0])
	case "localdatetime":
		return localTimeOf(args[0])
	case "duration":
		return durationOf(args[0])
	case "duration.indays":
		a, ok := args[0].(Date)
		b, ok2 := args[1].(Date)
		if ok && ok2 {
			return Duration{Days: int64(b.Sub(a.Time) / (24 * time.Hour))}
		}
	case "tostring":
		return text(args[0])
	case "toupper":
		return strings.ToUpper(args[0].(string))
	case "left":
		s := []rune(args[0].(string))
		return string(s[:min(int64(len(s)), args[1].(int64))])
	case "vector":
		return vectorOf(args)
	case "vector.similarity.euclidean":
		return float64(float32(1 / (1 + distance(args, func(d float64) float64 { return d * d }))))
	case "vector_distance":
		switch args[2] {
		case "EUCLIDEAN_SQUARED":
			return distance(args, func(d float64) float64 { return d * d })
		case "MANHATTAN":
			return distance(args, math.Abs)
		}
	case "tointegerlist":
		if v, ok := args[0].(Vector); ok {
			return v.integers()
		}
	case "abs":
		return max(args[0].(int64), -args[0].(int64))
	case "sign":
		return int64(order(args[0], int64(0)))
	case "tofloat":
		f, _ := number(args[0])
		return f
	case "floor":
		f, _ := number(args[0])
		return math.Floor(f)
	case "range":
		out, step := []any{}, int64(1)
		if len(args) > 2 {
			step = args[2].(int64)
		}
		for i := args[0].(int64); step > 0 && i <= args[1].(int64) || step < 0 && i >= args[1].(int64); i += step {
			out = append(out, i)
		}
		return out
	}
	return ofOne(name, args[0], e)
}

func ofOne(name string, a any, e ast.Expr) any {
	switch name {
	case "size", "length":
		switch a := a.(type) {
		case []any:
			return int64(len(a))
		case string:
			return int64(len([]rune(a)))
		case Vector:
			return int64(len(a.Coordinates))
		case *Path:
			return int64(len(a.Rels))
		}
	case "isempty":
		if l, ok := a.([]any); ok {
			return len(l) == 0
		}
		return a.(string) == ""
	case "head":
		return index(a, int64(0))
	case "last":
		return index(a, int64(-1))
	case "tail":
		l := a.([]any)
		return append([]any{}, l[min(1, len(l)):]...)
	case "reverse":
		l := append([]any{}, a.([]any)...)
		slices.Reverse(l)
		return l
	case "nodes":
		out := []any{}
		for _, n := range a.(*Path).Nodes {
			out = append(out, n)
		}
		return out
	case "relationships":
		out := []any{}
		for _, x := range a.(*Path).Rels {
			out = append(out, x)
		}
		return out
	case "type":
		return a.(*Rel).Type
	case "startnode":
		return a.(*Rel).Src
	case "endnode":
		return a.(*Rel).Dst
	case "labels":
		alive(a)
		out := []any{}
		for _, l := range a.(*Node).Labels {
			out = append(out, l)
		}
		return out
	}
	unknown(e)
	return nil
}

// aggregate computes an aggregate over the rows of a group.
func (m *machine) aggregate(e ast.Expr, rows []Row) any {
	if _, ok := e.(*ast.CountStar); ok {
		return int64(len(rows))
	}
	c := e.(*ast.Call)
	values := []any{}
	seen := map[string]bool{}
	for _, r := range rows {
		v := m.eval(c.Args[0], r)
		if v == nil || c.Distinct && seen[key(v)] {
			continue
		}
		seen[key(v)] = true
		values = append(values, v)
	}
	switch strings.ToLower(c.Name) {
	case "count":
		return int64(len(values))
	case "collect":
		return values
	case "sum":
		return total(values)
	case "avg":
		if len(values) == 0 {
			return nil
		}
		f, _ := number(total(values))
		return f / float64(len(values))
	case "min":
		return index(sorted(values), int64(0))
	}
	return index(sorted(values), int64(-1))
}

func total(values []any) any {
	sum := any(int64(0))
	for _, v := range values {
		sum = arithmetic(ast.OpAdd, sum, v)
	}
	return sum
}

// isAggregate reports whether an expression is the call of an aggregate.
func isAggregate(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CountStar:
		return true
	case *ast.Call:
		return slices.Contains(aggregates, strings.ToLower(n.Name))
	}
	return false
}

// aggregatesOf returns the aggregates in an expression, those in subqueries aside.
func aggregatesOf(e ast.Expr) []ast.Expr {
	var out []ast.Expr
	ast.Inspect(e, func(n ast.Node) bool {
		if _, ok := n.(*ast.Subquery); ok {
			return false
		}
		if isAggregate(n) {
			out = append(out, n.(ast.Expr))
			return false
		}
		return true
	})
	return out
}
