package naive

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/hopgate/hopgate/internal/query/cypher/ast"
)

// machine evaluates on a graph.
type machine struct {
	g    *Graph
	aggs map[ast.Expr]any // values of the aggregates of the group at hand
	sure *sureness
	work *int // edges that patterns have gone over, and rows that they have found
}

// mostWork bounds the edges that the patterns of a statement may go over and the rows that they find, since their number can be any.
const mostWork = 60_000

// sureness reports whether an error must end the statement: the expression is an item of the last RETURN, all its rows are wanted,
// and no evaluation order may skip it.
type sureness struct {
	last bool
	lazy int
}

// unbound is the panic value of an expression whose variable has no value yet.
type unbound string

// holds reports whether a condition is true.
func (m *machine) holds(e ast.Expr, r Row) bool { return e == nil || truthOf(m.eval(e, r)) == 1 }

func with(r Row, name string, v any) Row {
	out := maps.Clone(r)
	out[name] = v
	return out
}

func (m *machine) all(es []ast.Expr, r Row) []any {
	out := []any{}
	for _, e := range es {
		out = append(out, m.eval(e, r))
	}
	return out
}

func (m *machine) list(e ast.Expr, r Row) ([]any, bool) {
	switch v := m.eval(e, r).(type) {
	case nil:
		return nil, false
	case []any:
		return v, true
	}
	fail("not a list")
	return nil, false
}

func (m *machine) eval(e ast.Expr, r Row) any {
	if v, ok := m.aggs[e]; ok {
		return v
	}
	if lazy(e) {
		m.sure.lazy++
		v := m.plain(e, r)
		m.sure.lazy-- // not if it fails
		return v
	}
	return m.plain(e, r)
}

// lazy reports whether parts of an expression may be skipped.
func lazy(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Case, *ast.Quantifier, *ast.Subquery, *ast.PatternComprehension, *ast.PatternPredicate, *ast.ListComprehension, *ast.Reduce:
		return true
	case *ast.Comparison:
		return len(e.Steps) > 1
	case *ast.Binary:
		return e.Op == ast.OpAnd || e.Op == ast.OpOr || e.Op == ast.OpXor
	case *ast.Call:
		return strings.EqualFold(e.Name, "coalesce")
	}
	return false
}

func (m *machine) plain(e ast.Expr, r Row) any {
	switch e := e.(type) {
	case *ast.NullLit:
		return nil
	case *ast.BoolLit:
		return e.Value
	case *ast.IntLit:
		return e.Value
	case *ast.FloatLit:
		return e.Value
	case *ast.StringLit:
		return e.Value
	case *ast.ListLit:
		return m.all(e.Items, r)
	case *ast.MapLit:
		return m.mapLit(e, r)
	case *ast.Variable:
		v, ok := r[e.Name]
		if !ok {
			panic(unbound(e.Name))
		}
		return v
	case *ast.Property:
		return property(m.eval(e.Subject, r), e.Key)
	case *ast.Index:
		return index(m.eval(e.Subject, r), m.eval(e.Index, r))
	case *ast.Slice:
		return m.slice(e, r)
	case *ast.ListComprehension, *ast.Quantifier, *ast.Reduce:
		return m.over(e, r)
	case *ast.PatternComprehension:
		out := []any{}
		for _, f := range m.match([]*ast.PathPattern{e.Path}, e.Where, r) {
			out = append(out, m.eval(e.Projection, f))
		}
		return out
	case *ast.PatternPredicate:
		return len(m.match([]*ast.PathPattern{e.Path}, nil, r)) > 0
	case *ast.Subquery:
		return m.subquery(e, r)
	case *ast.Case:
		return m.choose(e, r)
	case *ast.Call:
		return m.call(e, r)
	case *ast.Unary:
		return m.unary(e, r)
	case *ast.Binary:
		return m.binary(e, r)
	case *ast.Comparison:
		return m.comparison(e, r)
	case *ast.IsNull:
		return (m.eval(e.Operand, r) == nil) != e.Not
	case *ast.HasLabels:
		switch v := m.eval(e.Subject, r).(type) {
		case nil:
			return nil
		case *Node:
			alive(v)
			return hasLabels(e.Labels, v.Labels)
		case *Rel:
			alive(v)
			return hasLabels(e.Labels, []string{v.Type})
		}
	}
	unknown(e)
	return nil
}

func (m *machine) mapLit(e *ast.MapLit, r Row) map[string]any {
	out := map[string]any{}
	for _, x := range e.Entries {
		out[x.Key] = m.eval(x.Value, r)
	}
	return out
}

func property(v any, name string) any {
	switch v := v.(type) {
	case nil:
		return nil
	case *Node:
		alive(v)
		return v.Props[name]
	case *Rel:
		alive(v)
		return v.Props[name]
	case map[string]any:
		return v[name]
	case Date:
		if n, ok := partOf(v.Time, name); ok {
			return n
		}
	case LocalTime:
		switch name {
		case "hour":
			return int64(v.Hour())
		case "minute":
			return int64(v.Minute())
		}
		if n, ok := partOf(v.Time, name); ok {
			return n
		}
	case Duration:
		switch name {
		case "months":
			return v.Months
		case "days":
			return v.Days
		case "seconds":
			return v.Seconds
		}
	}
	fail("no property %s of %T", name, v)
	return nil
}

func index(v, i any) any {
	switch x := v.(type) {
	case nil:
		return nil
	case []any:
		if i == nil {
			return nil
		}
		n, ok := i.(int64)
		if !ok {
			fail("not an index")
		}
		if n < 0 {
			n += int64(len(x))
		}
		if n < 0 || n >= int64(len(x)) {
			return nil
		}
		return x[n]
	}
	if i == nil {
		return nil
	}
	name, ok := i.(string)
	if !ok {
		fail("no index of %T", v)
	}
	return property(v, name)
}

func (m *machine) slice(e *ast.Slice, r Row) any {
	v, ok := m.list(e.Subject, r)
	bound := func(x ast.Expr, without int) int {
		if x == nil {
			return without
		}
		n, isInt := m.eval(x, r).(int64)
		if !isInt {
			ok = false
			return 0
		}
		if n < 0 {
			n += int64(len(v))
		}
		return int(min(max(n, 0), int64(len(v))))
	}
	from, to := bound(e.From, 0), bound(e.To, len(v))
	if !ok {
		return nil
	}
	return slices.Clone(append([]any{}, v[from:max(from, to)]...))
}

// over evaluates an expression that iterates over a list.
func (m *machine) over(e ast.Expr, r Row) any {
	switch e := e.(type) {
	case *ast.ListComprehension:
		list, ok := m.list(e.List, r)
		if !ok {
			return nil
		}
		out := []any{}
		for _, v := range list {
			if in := with(r, e.Variable.Name, v); m.holds(e.Where, in) {
				if e.Projection != nil {
					v = m.eval(e.Projection, in)
				}
				out = append(out, v)
			}
		}
		return out
	case *ast.Reduce:
		list, ok := m.list(e.List, r)
		if !ok {
			return nil
		}
		sum := m.eval(e.Init, r)
		for _, v := range list {
			sum = m.eval(e.Body, with(with(r, e.Accumulator.Name, sum), e.Variable.Name, v))
		}
		return sum
	case *ast.Quantifier:
		list, ok := m.list(e.List, r)
		if !ok {
			return nil
		}
		var count [3]int // null, false, true
		for _, v := range list {
			count[truthOf(m.eval(e.Where, with(r, e.Variable.Name, v)))+1]++
		}
		return quantified(e.Kind, count)
	}
	return nil
}

func quantified(kind ast.QuantifierKind, count [3]int) any {
	some := func(wins, other bool, n int) any {
		switch {
		case n > 0:
			return wins
		case count[0] > 0:
			return nil
		}
		return other
	}
	switch kind {
	case ast.QuantifierAll:
		return some(false, true, count[1])
	case ast.QuantifierAny:
		return some(true, false, count[2])
	case ast.QuantifierNone:
		return some(false, true, count[2])
	}
	switch {
	case count[2] > 1:
		return false
	case count[0] > 0:
		return nil
	}
	return count[2] == 1
}

func (m *machine) subquery(e *ast.Subquery, r Row) any {
	var rows []Row
	var columns []string
	if e.Query != nil {
		last := m.sure.last
		rows, columns = m.query(e.Query, r, r)
		m.sure.last = last
	} else {
		rows = m.match(e.Pattern, e.Where, r)
	}
	switch e.Kind {
	case ast.SubqueryExists:
		return len(rows) > 0
	case ast.SubqueryCount:
		return int64(len(rows))
	}
	out := []any{}
	for _, f := range rows {
		out = append(out, f[columns[0]])
	}
	return out
}

func (m *machine) choose(e *ast.Case, r Row) any {
	var operand any
	if e.Operand != nil {
		operand = m.eval(e.Operand, r)
	}
	for _, w := range e.Whens {
		for _, t := range w.Tests {
			if t.Predicate {
				unknown(t)
			}
			v := m.eval(t.Expr, r)
			if e.Operand == nil && truthOf(v) == 1 || e.Operand != nil && equal(operand, v) == 1 {
				return m.eval(w.Then, r)
			}
		}
	}
	if e.Else == nil {
		return nil
	}
	return m.eval(e.Else, r)
}

func (m *machine) unary(e *ast.Unary, r Row) any {
	v := m.eval(e.Operand, r)
	if e.Op == ast.OpNot {
		return truthOf(v).not().value()
	}
	switch x := v.(type) {
	case int64:
		if e.Op == ast.OpNeg {
			return -x
		}
	case float64:
		if e.Op == ast.OpNeg {
			return -x
		}
	case nil:
	default:
		fail("a sign before %T", v)
	}
	return v
}

func (m *machine) comparison(e *ast.Comparison, r Row) any {
	left, all := m.eval(e.First, r), truth(1)
	for _, s := range e.Steps {
		right := m.eval(s.Right, r)
		var t truth
		switch s.Op {
		case ast.OpEq:
			t = equal(left, right)
		case ast.OpNe:
			t = equal(left, right).not()
		case ast.OpLt:
			t = compare(left, right, func(o int) bool { return o < 0 })
		case ast.OpLe:
			t = compare(left, right, func(o int) bool { return o <= 0 })
		case ast.OpGt:
			t = compare(left, right, func(o int) bool { return o > 0 })
		case ast.OpGe:
			t = compare(left, right, func(o int) bool { return o >= 0 })
		}
		left, all = right, and(all, t)
	}
	return all.value()
}

func (m *machine) binary(e *ast.Binary, r Row) any {
	a, b := m.eval(e.Left, r), m.eval(e.Right, r)
	switch e.Op {
	case ast.OpAnd:
		return and(truthOf(a), truthOf(b)).value()
	case ast.OpOr:
		return or(truthOf(a), truthOf(b)).value()
	case ast.OpXor:
		if x, y := truthOf(a), truthOf(b); x >= 0 && y >= 0 {
			return x != y
		}
		return nil
	case ast.OpIn:
		if b == nil {
			return nil
		}
		in := truth(0)
		for _, x := range b.([]any) {
			in = or(in, equal(a, x))
		}
		return in.value()
	case ast.OpStartsWith, ast.OpEndsWith, ast.OpContains:
		x, ok := a.(string)
		y, ok2 := b.(string)
		if !ok || !ok2 {
			return nil
		}
		return map[ast.BinaryOp]func(a, b string) bool{ast.OpStartsWith: strings.HasPrefix, ast.OpEndsWith: strings.HasSuffix, ast.OpContains: strings.Contains}[e.Op](x, y)
	}
	if a == nil || b == nil {
		return nil
	}
	return arithmetic(e.Op, a, b)
}

func arithmetic(op ast.BinaryOp, a, b any) any {
	if x, ok := a.([]any); ok && (op == ast.OpAdd || op == ast.OpConcat) {
		if y, ok := b.([]any); ok {
			return append(append([]any{}, x...), y...) // not nil, which is null
		}
		return append(slices.Clone(x), b)
	}
	if y, ok := b.([]any); ok && op == ast.OpAdd {
		return slices.Concat([]any{a}, y)
	}
	if x, ok := a.(string); ok {
		if y, ok := b.(string); ok && (op == ast.OpAdd || op == ast.OpConcat) {
			return x + y
		}
	}
	if op == ast.OpAdd || op == ast.OpSub {
		sign := map[ast.BinaryOp]int64{ast.OpAdd: 1, ast.OpSub: -1}[op]
		if sum := temporalSum(a, b, sign); sum != nil {
			return sum
		}
	}
	if d, ok := a.(Duration); ok && op == ast.OpMul {
		if n, ok := b.(int64); ok {
			return Duration{d.Months * n, d.Days * n, d.Seconds * n}
		}
	}
	x, ok := a.(int64)
	y, ok2 := b.(int64)
	if ok && ok2 {
		return integers(op, x, y)
	}
	p, ok := number(a)
	q, ok2 := number(b)
	if !ok || !ok2 {
		fail("arithmetic on %T and %T", a, b)
	}
	switch op {
	case ast.OpAdd:
		return p + q
	case ast.OpSub:
		return p - q
	case ast.OpMul:
		return p * q
	case ast.OpDiv:
		return p / q
	case ast.OpMod:
		return math.Mod(p, q)
	}
	fail("unknown operator")
	return nil
}

func integers(op ast.BinaryOp, x, y int64) any {
	switch op {
	case ast.OpAdd:
		return exact(new(big.Int).Add(big.NewInt(x), big.NewInt(y)))
	case ast.OpSub:
		return exact(new(big.Int).Sub(big.NewInt(x), big.NewInt(y)))
	case ast.OpMul:
		return exact(new(big.Int).Mul(big.NewInt(x), big.NewInt(y)))
	case ast.OpDiv, ast.OpMod:
		if y == 0 {
			fail("/ by zero")
		}
		if op == ast.OpDiv {
			return x / y
		}
		return x % y
	}
	fail("unknown operator")
	return nil
}

// exact returns a number that an integer can hold.
func exact(n *big.Int) int64 {
	if !n.IsInt64() {
		fail("integer overflow")
	}
	return n.Int64()
}

func text(v any) any {
	switch v := v.(type) {
	case nil, string:
		return v
	case Date:
		return v.Format(time.DateOnly)
	case LocalTime:
		return v.String()
	case Duration:
		return v.String()
	case int64, bool:
		return fmt.Sprint(v)
	}
	unknown(v)
	return nil
}

func hasLabels(l ast.LabelExpr, have []string) bool {
	switch l := l.(type) {
	case nil:
		return true
	case *ast.LabelName:
		return slices.Contains(have, l.Name)
	case *ast.LabelAny:
		return len(have) > 0
	case *ast.LabelNot:
		return !hasLabels(l.Operand, have)
	case *ast.LabelAnd:
		return !slices.ContainsFunc(l.Operands, func(o ast.LabelExpr) bool { return !hasLabels(o, have) })
	case *ast.LabelOr:
		return slices.ContainsFunc(l.Operands, func(o ast.LabelExpr) bool { return hasLabels(o, have) })
	}
	unknown(l)
	return false
}
