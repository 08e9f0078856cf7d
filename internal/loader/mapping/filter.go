package mapping

import (
	"fmt"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader/record"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/cypher/parse"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// Filter is a condition on a row: an openCypher expression whose variables are columns. Columns are strings; a comparison with a number or
// boolean converts them.
type Filter struct {
	expr  ast.Expr
	place place
}

func parseFilter(text string, at place) (*Filter, error) {
	e, err := parse.Expression(text)
	if err != nil {
		return nil, at.errorf("the condition %q: %v", text, err)
	}
	return &Filter{e, at}, nil
}

// Cond is a filter bound to the columns of a file. It is not safe for concurrent use.
type Cond func(cells []record.Cell, ctx *fn.Context) (graph.Value, error)

// Holds reports whether a row passes.
func (c Cond) Holds(cells []record.Cell, ctx *fn.Context) (bool, error) {
	v, err := c(cells, ctx)
	if err != nil {
		return false, err
	}
	t, err := fn.Truth(v)
	return t == fn.True, err
}

// filterBinder binds a filter to columns.
type filterBinder struct {
	slot  func(Column) (int, error)
	conv  *Conv // for nulls
	place place
}

func (b *filterBinder) fail(format string, args ...any) (Cond, error) {
	return nil, b.place.errorf(format, args...)
}

func (b *filterBinder) column(name string) (Cond, error) {
	slot, err := b.slot(Column{Name: name, place: b.place})
	if err != nil {
		return nil, err
	}
	return func(cells []record.Cell, _ *fn.Context) (graph.Value, error) {
		cell := cells[slot]
		if b.conv.IsNull(cell) {
			return graph.Value{}, nil
		}
		if cell.Kind == record.Plain || cell.Kind == record.Quoted {
			return graph.StringValue(str(cell.Text)), nil
		}
		v, _ := b.conv.Value(cell, new(Scratch))
		return v, nil
	}, nil
}

func (b *filterBinder) bindAll(es ...ast.Expr) ([]Cond, error) {
	out := make([]Cond, len(es))
	for i, e := range es {
		c, err := b.bind(e)
		if err != nil {
			return nil, err
		}
		out[i] = c
	}
	return out, nil
}

func constant(v graph.Value) (Cond, error) {
	return func([]record.Cell, *fn.Context) (graph.Value, error) { return v, nil }, nil
}

// dotted returns the name a.b, a key in a nested object.
func dotted(e ast.Expr) (string, bool) {
	switch x := e.(type) {
	case *ast.Variable:
		return x.Name, true
	case *ast.Property:
		name, ok := dotted(x.Subject)
		return name + "." + x.Key, ok
	}
	return "", false
}

func (b *filterBinder) bind(e ast.Expr) (Cond, error) {
	switch x := e.(type) {
	case *ast.NullLit:
		return constant(graph.Value{})
	case *ast.BoolLit:
		return constant(graph.BoolValue(x.Value))
	case *ast.IntLit:
		return constant(graph.IntValue(x.Value))
	case *ast.FloatLit:
		return constant(graph.FloatValue(x.Value))
	case *ast.StringLit:
		return constant(graph.StringValue(x.Value))
	case *ast.Variable, *ast.Property:
		name, ok := dotted(e)
		if !ok {
			break
		}
		return b.column(name)
	case *ast.ListLit:
		items, err := b.bindAll(x.Items...)
		if err != nil {
			return nil, err
		}
		return func(cells []record.Cell, ctx *fn.Context) (graph.Value, error) {
			vs, err := evalAll(items, cells, ctx)
			return graph.ListValue(vs), err
		}, nil
	case *ast.IsNull:
		c, err := b.bind(x.Operand)
		if err != nil {
			return nil, err
		}
		return func(cells []record.Cell, ctx *fn.Context) (graph.Value, error) {
			v, err := c(cells, ctx)
			return graph.BoolValue(v.IsNull() != x.Not), err
		}, nil
	case *ast.Unary:
		return b.unary(x)
	case *ast.Binary:
		return b.binary(x)
	case *ast.Comparison:
		return b.comparison(x)
	case *ast.Call:
		return b.call(x)
	}
	return b.fail("a condition over rows can contain only columns, literals, operators and functions")
}

func evalAll(cs []Cond, cells []record.Cell, ctx *fn.Context) ([]graph.Value, error) {
	vs := make([]graph.Value, len(cs))
	for i, c := range cs {
		v, err := c(cells, ctx)
		if err != nil {
			return nil, err
		}
		vs[i] = v
	}
	return vs, nil
}

func (b *filterBinder) unary(x *ast.Unary) (Cond, error) {
	c, err := b.bind(x.Operand)
	if err != nil {
		return nil, err
	}
	f := fn.Not
	switch x.Op {
	case ast.OpNeg:
		f = func(v graph.Value) (graph.Value, error) { return fn.Neg(like(v, graph.IntValue(0))) }
	case ast.OpPlus:
		f = func(v graph.Value) (graph.Value, error) { return fn.Pos(like(v, graph.IntValue(0))) }
	}
	return func(cells []record.Cell, ctx *fn.Context) (graph.Value, error) {
		v, err := c(cells, ctx)
		if err != nil {
			return v, err
		}
		return f(v)
	}, nil
}

// like parses text as a number or boolean if other is one.
func like(v, other graph.Value) graph.Value {
	if v.Kind() != graph.String {
		return v
	}
	switch other.Kind() {
	case graph.Int, graph.Float:
		text := []byte(v.Str())
		if i, ok := parseInt(text); ok {
			return graph.IntValue(i)
		}
		v, _ = (&Conv{Type: Type{Kind: graph.Float}}).scalar(record.Cell{Text: text})
	case graph.Bool:
		v, _ = (&Conv{Type: Type{Kind: graph.Bool}}).scalar(record.Cell{Text: []byte(v.Str())})
	}
	return v
}

type operator = func(a, b graph.Value) (graph.Value, error)

func plain(f func(a, b graph.Value) graph.Value) operator {
	return func(a, b graph.Value) (graph.Value, error) { return f(a, b), nil }
}

// alike returns an operator that parses text next to numbers as numbers.
func alike(f operator) operator {
	return func(a, b graph.Value) (graph.Value, error) { return f(like(a, b), like(b, a)) }
}

var operators = map[ast.BinaryOp]operator{
	ast.OpOr: fn.Or, ast.OpXor: fn.Xor, ast.OpAnd: fn.And, ast.OpAdd: alike(fn.Add), ast.OpSub: alike(fn.Sub),
	ast.OpMul: alike(fn.Mul), ast.OpDiv: alike(fn.Div), ast.OpMod: alike(fn.Mod), ast.OpPow: alike(fn.Pow),
	ast.OpStartsWith: plain(fn.StartsWith), ast.OpEndsWith: plain(fn.EndsWith), ast.OpContains: plain(fn.Contains),
	ast.OpIn: func(v, list graph.Value) (graph.Value, error) {
		if list.Kind() == graph.List {
			for _, e := range list.List() {
				if v2 := like(v, e); v2.Kind() != v.Kind() {
					if fn.Equal(v2, e) == fn.True {
						return graph.BoolValue(true), nil
					}
				}
			}
		}
		return fn.In(v, list)
	},
}

func (b *filterBinder) binary(x *ast.Binary) (Cond, error) {
	cs, err := b.bindAll(x.Left, x.Right)
	if err != nil {
		return nil, err
	}
	if x.Op == ast.OpMatches {
		return func(cells []record.Cell, ctx *fn.Context) (graph.Value, error) {
			vs, err := evalAll(cs, cells, ctx)
			if err != nil {
				return graph.Value{}, err
			}
			return ctx.Matches(vs[0], vs[1])
		}, nil
	}
	f := operators[x.Op]
	if f == nil {
		return b.fail("a condition over rows cannot contain this operator")
	}
	return func(cells []record.Cell, ctx *fn.Context) (graph.Value, error) {
		l, err := cs[0](cells, ctx)
		if err != nil {
			return l, err
		}
		r, err := cs[1](cells, ctx)
		if err != nil {
			return r, err
		}
		return f(l, r)
	}, nil
}

var comparisons = map[ast.CompareOp]func(a, b graph.Value) fn.Ternary{
	ast.OpEq: fn.Equal, ast.OpNe: func(a, b graph.Value) fn.Ternary { return fn.Equal(a, b).Not() },
	ast.OpLt: fn.Less, ast.OpLe: fn.LessEqual, ast.OpGt: fn.Greater, ast.OpGe: fn.GreaterEqual,
}

func (b *filterBinder) comparison(x *ast.Comparison) (Cond, error) {
	first, err := b.bind(x.First)
	if err != nil {
		return nil, err
	}
	var rights []Cond
	for _, s := range x.Steps {
		c, err := b.bind(s.Right)
		if err != nil {
			return nil, err
		}
		rights = append(rights, c)
	}
	return func(cells []record.Cell, ctx *fn.Context) (graph.Value, error) {
		l, err := first(cells, ctx)
		if err != nil {
			return l, err
		}
		t := fn.True
		for i, s := range x.Steps {
			r, err := rights[i](cells, ctx)
			if err != nil {
				return r, err
			}
			t = t.And(comparisons[s.Op](like(l, r), like(r, l)))
			l = r
		}
		return t.Value(), nil
	}, nil
}

func (b *filterBinder) call(x *ast.Call) (Cond, error) {
	f, ok := fn.Lookup(x.Name)
	if !ok || x.Distinct || !f.Deterministic {
		return b.fail("a condition over rows cannot call %s()", x.Name)
	}
	if len(x.Args) < f.MinArgs || f.MaxArgs >= 0 && len(x.Args) > f.MaxArgs {
		return b.fail("%s() takes other arguments: %s", x.Name, f.Signature)
	}
	args, err := b.bindAll(x.Args...)
	if err != nil {
		return nil, err
	}
	return func(cells []record.Cell, ctx *fn.Context) (graph.Value, error) {
		vs, err := evalAll(args, cells, ctx)
		if err != nil {
			return graph.Value{}, err
		}
		v, err := f.Eval(ctx, vs)
		if err != nil {
			return v, fmt.Errorf("%s(): %w", x.Name, err)
		}
		return v, nil
	}, nil
}
