package fn_test

import (
	"fmt"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// evaluator evaluates syntax trees slowly and plainly.
type evaluator struct {
	ctx    *fn.Context
	called map[string]bool // takes the names of functions; nil: they are not asked for
}

// row holds the variables in scope, the latest first; nil is the empty row.
type row = *binding

type binding struct {
	name  string
	value graph.Value
	next  row
}

func (r *binding) with(name string, v graph.Value) row { return &binding{name, v, r} }

func (r *binding) get(name string) (graph.Value, bool) {
	for ; r != nil; r = r.next {
		if r.name == name {
			return r.value, true
		}
	}
	return graph.Value{}, false
}

// unsupported is the panic value for expressions that the evaluator does not implement.
type unsupported struct{ what string }

// failure is the panic of an error of the functions.
type failure struct{ err error }

func must(v graph.Value, err error) graph.Value {
	if err != nil {
		panic(failure{err})
	}
	return v
}

func (e *evaluator) holds(r row, where ast.Expr) bool {
	if where == nil {
		return true
	}
	t, err := fn.Truth(e.eval(r, where))
	if err != nil {
		panic(failure{err})
	}
	return t == fn.True
}

func (e *evaluator) eval(r row, x ast.Expr) graph.Value {
	switch x := x.(type) {
	case *ast.NullLit:
		return graph.Value{}
	case *ast.BoolLit:
		return graph.BoolValue(x.Value)
	case *ast.IntLit:
		return graph.IntValue(x.Value)
	case *ast.FloatLit:
		return graph.FloatValue(x.Value)
	case *ast.StringLit:
		return graph.StringValue(x.Value)
	case *ast.ListLit:
		l := make([]graph.Value, len(x.Items))
		for i := range l {
			l[i] = e.eval(r, x.Items[i])
		}
		return graph.ListValue(l)
	case *ast.MapLit:
		var m []graph.MapEntry
		for _, i := range x.Entries {
			m = slices.DeleteFunc(m, func(o graph.MapEntry) bool { return o.Key == i.Key })
			m = append(m, graph.MapEntry{Key: i.Key, Value: e.eval(r, i.Value)})
		}
		return graph.MapValue(m)
	case *ast.Variable:
		v, ok := r.get(x.Name)
		if !ok {
			panic(unsupported{"variable " + x.Name})
		}
		return v
	case *ast.Property:
		return must(fn.Property(e.eval(r, x.Subject), x.Key))
	case *ast.Index:
		return must(fn.Index(e.eval(r, x.Subject), e.eval(r, x.Index)))
	case *ast.Slice:
		var from, to graph.Value
		if x.From != nil {
			from = e.eval(r, x.From)
		}
		if x.To != nil {
			to = e.eval(r, x.To)
		}
		return must(fn.Slice(e.eval(r, x.Subject), from, to, x.From != nil, x.To != nil))
	case *ast.ListComprehension:
		list := e.eval(r, x.List)
		if list.IsNull() {
			return list
		}
		var l []graph.Value
		for _, v := range list.List() {
			in := r.with(x.Variable.Name, v)
			if !e.holds(in, x.Where) {
				continue
			}
			if x.Projection != nil {
				v = e.eval(in, x.Projection)
			}
			l = append(l, v)
		}
		return graph.ListValue(l)
	case *ast.Quantifier:
		return e.quantifier(r, x)
	case *ast.Reduce:
		acc := e.eval(r, x.Init)
		list := e.eval(r, x.List)
		if list.IsNull() {
			return list
		}
		for _, v := range list.List() {
			acc = e.eval(r.with(x.Accumulator.Name, acc).with(x.Variable.Name, v), x.Body)
		}
		return acc
	case *ast.Case:
		return e.choose(r, x)
	case *ast.IsNull:
		return graph.BoolValue(e.eval(r, x.Operand).IsNull() != x.Not)
	case *ast.Unary:
		v := e.eval(r, x.Operand)
		switch x.Op {
		case ast.OpNot:
			return must(fn.Not(v))
		case ast.OpNeg:
			return must(fn.Neg(v))
		default:
			return must(fn.Pos(v))
		}
	case *ast.Binary:
		return e.binary(x.Op, e.eval(r, x.Left), e.eval(r, x.Right))
	case *ast.Comparison:
		left, all := e.eval(r, x.First), fn.True
		for _, s := range x.Steps {
			right := e.eval(r, s.Right)
			all = all.And(comparison(s.Op, left, right))
			left = right
		}
		return all.Value()
	case *ast.Call:
		f, ok := fn.Lookup(x.Name)
		if !ok || len(x.Args) < f.MinArgs || f.MaxArgs >= 0 && len(x.Args) > f.MaxArgs {
			panic(unsupported{"function " + x.Name})
		}
		args := make([]graph.Value, len(x.Args))
		for i := range args {
			args[i] = e.eval(r, x.Args[i])
		}
		if e.called != nil {
			e.called[f.Name] = true
		}
		return must(f.Eval(e.ctx, args))
	}
	panic(unsupported{fmt.Sprintf("%T", x)})
}

func comparison(op ast.CompareOp, a, b graph.Value) fn.Ternary {
	switch op {
	case ast.OpEq:
		return fn.Equal(a, b)
	case ast.OpNe:
		return fn.Equal(a, b).Not()
	case ast.OpLt:
		return fn.Less(a, b)
	case ast.OpLe:
		return fn.LessEqual(a, b)
	case ast.OpGt:
		return fn.Greater(a, b)
	}
	return fn.GreaterEqual(a, b)
}

func (e *evaluator) binary(op ast.BinaryOp, a, b graph.Value) graph.Value {
	switch op {
	case ast.OpOr:
		return must(fn.Or(a, b))
	case ast.OpXor:
		return must(fn.Xor(a, b))
	case ast.OpAnd:
		return must(fn.And(a, b))
	case ast.OpAdd, ast.OpConcat:
		return must(fn.Add(a, b))
	case ast.OpSub:
		return must(fn.Sub(a, b))
	case ast.OpMul:
		return must(fn.Mul(a, b))
	case ast.OpDiv:
		return must(fn.Div(a, b))
	case ast.OpMod:
		return must(fn.Mod(a, b))
	case ast.OpPow:
		return must(fn.Pow(a, b))
	case ast.OpIn:
		return must(fn.In(a, b))
	case ast.OpStartsWith:
		return fn.StartsWith(a, b)
	case ast.OpEndsWith:
		return fn.EndsWith(a, b)
	case ast.OpContains:
		return fn.Contains(a, b)
	}
	return must(e.ctx.Matches(a, b))
}

func (e *evaluator) quantifier(r row, x *ast.Quantifier) graph.Value {
	list := e.eval(r, x.List)
	if list.IsNull() {
		return list
	}
	var trues, unknowns, falses int
	for _, v := range list.List() {
		in := r.with(x.Variable.Name, v)
		if x.Where != nil {
			v = e.eval(in, x.Where)
		}
		switch t, err := fn.Truth(v); {
		case err != nil:
			panic(failure{err})
		case t == fn.True:
			trues++
		case t == fn.Unknown:
			unknowns++
		default:
			falses++
		}
	}
	sure := func(found bool, t fn.Ternary) graph.Value {
		if found {
			return t.Value()
		}
		if unknowns > 0 {
			return fn.Unknown.Value()
		}
		return t.Not().Value()
	}
	switch x.Kind {
	case ast.QuantifierAll:
		return sure(falses > 0, fn.False)
	case ast.QuantifierAny:
		return sure(trues > 0, fn.True)
	case ast.QuantifierNone:
		return sure(trues > 0, fn.False)
	}
	if trues > 1 {
		return fn.False.Value()
	}
	if unknowns > 0 {
		return fn.Unknown.Value()
	}
	return graph.BoolValue(trues == 1)
}

func (e *evaluator) choose(r row, x *ast.Case) graph.Value {
	for _, w := range x.Whens {
		for _, t := range w.Tests {
			v := e.eval(r, t.Expr)
			if x.Operand != nil && !t.Predicate {
				v = fn.Equal(e.eval(r, x.Operand), v).Value()
			}
			if t, err := fn.Truth(v); err == nil && t == fn.True {
				return e.eval(r, w.Then)
			}
		}
	}
	if x.Else == nil {
		return graph.Value{}
	}
	return e.eval(r, x.Else)
}
