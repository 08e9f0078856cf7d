package expr

import (
	"context"
	"errors"
	"fmt"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// binaries are the operators that are functions of two values.
var binaries = map[plan.OpCode]func(x, y graph.Value) (graph.Value, error){
	plan.Xor: fn.Xor, plan.Add: fn.Add, plan.Sub: fn.Sub, plan.Mul: fn.Mul, plan.Div: fn.Div, plan.Mod: fn.Mod,
	plan.Pow: fn.Pow, plan.Concat: fn.Concat, plan.StartsWith: total(fn.StartsWith), plan.EndsWith: total(fn.EndsWith), plan.Contains: total(fn.Contains),
}

// total adapts a function that never fails.
func total(f func(x, y graph.Value) graph.Value) func(x, y graph.Value) (graph.Value, error) {
	return func(x, y graph.Value) (graph.Value, error) { return f(x, y), nil }
}

// op returns the evaluator of an operator.
func (es *Evaluators) op(e *plan.Op) runtime.Evaluator {
	args := es.AddAll(e.Args)
	switch e.Op {
	case plan.And, plan.Or:
		return &connective{args: args, or: e.Op == plan.Or}
	case plan.Not:
		return &unary{x: args[0], f: fn.Not}
	case plan.Neg:
		return es.once(es.at(e.Pos, &unary{x: args[0], f: fn.Neg}), args)
	case plan.Pos:
		return es.at(e.Pos, &unary{x: args[0], f: fn.Pos})
	case plan.Eq, plan.Ne, plan.Lt, plan.Le, plan.Gt, plan.Ge:
		return newComparison(es.r, e.Op, args[0], args[1])
	case plan.IsNull, plan.IsNotNull:
		return &nullTest{x: args[0], not: e.Op == plan.IsNotNull}
	case plan.In:
		return es.at(e.Pos, newInList(es.r, args[0], args[1]))
	case plan.Regexp:
		return es.at(e.Pos, &matches{binary{r: es.r, x: args[0], y: args[1], f: es.r.Env.Fn.Matches}, es.r})
	case plan.Index:
		return es.at(e.Pos, &index{x: args[0], key: args[1], r: es.r})
	case plan.SliceOp:
		return es.at(e.Pos, &slice{x: args[0], lo: args[1], hi: args[2]})
	}
	if y, ok := args[len(args)-1].(*Constant); ok && e.Op == plan.Contains && !isFixed(args[0]) {
		return es.at(e.Pos, &containsText{r: es.r, x: args[0], part: y})
	}
	f, ok := binaries[e.Op]
	if !ok {
		es.r.Fail(graph.InternalError("compile", fmt.Errorf("no operator %s", e.Op)))
		return &Constant{}
	}
	x := args[0]
	for _, y := range args[1:] { // XOR takes any number
		o := &binary{r: es.r, x: x, y: y, f: f}
		if e.Op == plan.Add || e.Op == plan.Concat {
			m := es.r.NewValueMemory("Expression")
			o.memory = &m
		}
		x = o
	}
	return es.once(es.at(e.Pos, x), args)
}

// newComparison puts a constant on the right.
func newComparison(r *runtime.Run, op plan.OpCode, x, y runtime.Evaluator) *comparison {
	if isFixed(x) {
		if !isFixed(y) {
			x, y = y, x
			switch op {
			case plan.Lt:
				op = plan.Gt
			case plan.Le:
				op = plan.Ge
			case plan.Gt:
				op = plan.Lt
			case plan.Ge:
				op = plan.Le
			}
		}
	}
	return &comparison{r: r, op: op, x: x, y: y}
}

// placed adds the position in the statement to the errors of an evaluator.
type placed struct {
	runtime.Evaluator
	pos graph.Pos
}

// at adds a position to the errors of an evaluator.
func (es *Evaluators) at(pos graph.Pos, e runtime.Evaluator) runtime.Evaluator {
	if pos.Line == 0 {
		return e
	}
	return &placed{Evaluator: e, pos: pos}
}

func (p *placed) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	vs, err := p.Evaluator.Eval(ctx, b, s)
	if err != nil {
		if e, ok := errors.AsType[*graph.Error](err); ok {
			return nil, e.At(p.pos)
		}
	}
	return vs, err
}

// call creates the evaluator of a function call.
func (es *Evaluators) call(e *plan.Call) runtime.Evaluator {
	if x := es.similarity(e); x != nil {
		return x
	}
	return es.function(e)
}

// function returns the evaluator of a call that reads no vectors.
func (es *Evaluators) function(e *plan.Call) runtime.Evaluator {
	args := es.AddAll(e.Args)
	switch {
	case e.Func == "coalesce":
		return &coalesce{args: args}
	case e.Func == "exists" && len(args) == 1:
		return &nullTest{x: args[0], not: true}
	case len(args) == 1 && StoreFunctions[e.Func] != nil:
		return es.at(e.Pos, &bulk{x: args[0], f: StoreFunctions[e.Func](es.r)})
	}
	f, ok := fn.Lookup(e.Func)
	if !ok {
		es.r.Fail(unknownFunction(e))
		return &Constant{}
	}
	if f.Records {
		for i := range args {
			args[i] = &recorded{x: args[i], r: es.r}
		}
	}
	x := es.at(e.Pos, &call{f: f, ctx: es.r.Env.Fn, Tuple: NewTuple(args), row: make([]graph.Value, len(args)), memory: es.r.NewValueMemory(e.Func + "()"), nesting: runtime.Nesting{Run: es.r}})
	if f.Deterministic || f.Stable {
		x = es.once(x, args)
	}
	return x
}

// CheckCall checks that a function exists.
func CheckCall(e *plan.Call) error {
	if _, ok := fn.Lookup(e.Func); ok || e.Func == "coalesce" || e.Func == "exists" || StoreFunctions[e.Func] != nil {
		return nil
	}
	return unknownFunction(e)
}

func unknownFunction(e *plan.Call) error {
	return graph.SyntaxError("UnknownFunction", e.Pos, "there is no function %s()", e.Func)
}

// call is a function of values.
type call struct {
	f   *fn.Function
	ctx *fn.Context
	Tuple
	row     []graph.Value
	memory  runtime.ValueMemory
	nesting runtime.Nesting // for a function that inserts
	out     []graph.Value
}

func (c *call) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	if err := c.Run(ctx, b, s); err != nil {
		return nil, err
	}
	c.out = Grown(c.out, b.N)
	c.memory.Begin()
	for _, i := range s {
		for k := range c.Cols {
			c.row[k] = c.Cols[k][i]
			if err := c.memory.Acct.Run.CheckLarge(ctx, c.row[k]); err != nil {
				return nil, err
			}
		}
		if c.f.Inserts > 0 {
			c.nesting.Begin()
			if err := c.nesting.Add(c.row[c.f.Inserts]); err != nil {
				return nil, err
			}
		}
		var err error
		if c.out[i], err = c.f.Eval(c.ctx, c.row); err != nil {
			return nil, err
		}
		if c.f.Records {
			c.out[i] = bare(c.out[i])
		}
		if err := c.memory.Add(ctx, c.out[i]); err != nil {
			return nil, err
		}
	}
	return c.out, nil
}

// matches is =~. It may take long on long texts, so it checks for cancellation row by row.
type matches struct {
	binary
	r *runtime.Run
}

func (o *matches) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	f := o.f
	o.f = func(x, y graph.Value) (graph.Value, error) {
		if err := o.r.CheckCancel(ctx); err != nil {
			return graph.Value{}, err
		}
		return f(x, y)
	}
	defer func() { o.f = f }()
	return o.binary.Eval(ctx, b, s)
}
