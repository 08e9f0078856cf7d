package exec

import (
	"context"
	"errors"
	"fmt"

	"github.com/hopgate/hopgate/internal/graph"
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

// op makes the evaluator of an operator.
func (es *evaluators) op(e *plan.Op) evaluator {
	args := es.addAll(e.Args)
	switch e.Op {
	case plan.And, plan.Or:
		return &connective{args: args, or: e.Op == plan.Or}
	case plan.Not:
		return &unary{x: args[0], f: fn.Not}
	case plan.Neg:
		return es.at(e.Pos, &unary{x: args[0], f: fn.Neg})
	case plan.Pos:
		return es.at(e.Pos, &unary{x: args[0], f: fn.Pos})
	case plan.Eq, plan.Ne, plan.Lt, plan.Le, plan.Gt, plan.Ge:
		return newComparison(es.r, e.Op, args[0], args[1])
	case plan.IsNull, plan.IsNotNull:
		return &nullTest{x: args[0], not: e.Op == plan.IsNotNull}
	case plan.In:
		return es.at(e.Pos, newInList(es.r, args[0], args[1]))
	case plan.Regexp:
		return es.at(e.Pos, &matches{binary{r: es.r, x: args[0], y: args[1], f: es.r.env.Fn.Matches}, es.r})
	case plan.Index:
		return es.at(e.Pos, &index{x: args[0], key: args[1], r: es.r})
	case plan.SliceOp:
		return es.at(e.Pos, &slice{x: args[0], lo: args[1], hi: args[2]})
	}
	f, ok := binaries[e.Op]
	if !ok {
		es.r.fail(graph.InternalError("compile", fmt.Errorf("no operator %s", e.Op)))
		return &constant{}
	}
	x := args[0]
	for _, y := range args[1:] { // XOR takes any number
		o := &binary{r: es.r, x: x, y: y, f: f}
		if e.Op == plan.Add || e.Op == plan.Concat {
			m := es.r.made("Expression")
			o.made = &m
		}
		x = o
	}
	return es.at(e.Pos, x)
}

// newComparison puts a constant on the right.
func newComparison(r *run, op plan.OpCode, x, y evaluator) *comparison {
	if _, ok := isConst(x); ok {
		if _, ok := isConst(y); !ok {
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

// placed says where in the statement an evaluator stands when it fails.
type placed struct {
	evaluator
	pos graph.Pos
}

// at makes the errors of an evaluator name a place.
func (es *evaluators) at(pos graph.Pos, e evaluator) evaluator {
	if pos.Line == 0 {
		return e
	}
	return &placed{evaluator: e, pos: pos}
}

func (p *placed) eval(ctx context.Context, b *batch, s sel) ([]graph.Value, error) {
	vs, err := p.evaluator.eval(ctx, b, s)
	if err != nil {
		if e, ok := errors.AsType[*graph.Error](err); ok {
			return nil, e.At(p.pos)
		}
	}
	return vs, err
}

// call makes the evaluator of a function call.
func (es *evaluators) call(e *plan.Call) evaluator {
	args := es.addAll(e.Args)
	switch {
	case e.Func == "coalesce":
		return &coalesce{args: args}
	case e.Func == "exists" && len(args) == 1:
		return &nullTest{x: args[0], not: true}
	case len(args) == 1 && storeFunctions[e.Func] != nil:
		return es.at(e.Pos, &bulk{x: args[0], f: storeFunctions[e.Func](es.r)})
	}
	f, ok := fn.Lookup(e.Func)
	if !ok {
		es.r.fail(unknownFunction(e))
		return &constant{}
	}
	return es.at(e.Pos, &call{f: f, ctx: es.r.env.Fn, tuple: newTuple(args), row: make([]graph.Value, len(args)), made: es.r.made(e.Func + "()"), nesting: nesting{r: es.r}})
}

// checkCall checks that there is a function of that name.
func checkCall(e *plan.Call) error {
	if _, ok := fn.Lookup(e.Func); ok || e.Func == "coalesce" || e.Func == "exists" || storeFunctions[e.Func] != nil {
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
	tuple
	row     []graph.Value
	made    made
	nesting nesting // of a function that inserts
	out     []graph.Value
}

func (c *call) eval(ctx context.Context, b *batch, s sel) ([]graph.Value, error) {
	if err := c.run(ctx, b, s); err != nil {
		return nil, err
	}
	c.out = grown(c.out, b.N)
	c.made.begin()
	for _, i := range s {
		for k := range c.cols {
			c.row[k] = c.cols[k][i]
			if err := c.made.acct.r.ask(ctx, c.row[k]); err != nil {
				return nil, err
			}
		}
		if c.f.Inserts > 0 {
			c.nesting.begin()
			if err := c.nesting.add(c.row[c.f.Inserts]); err != nil {
				return nil, err
			}
		}
		var err error
		if c.out[i], err = c.f.Eval(c.ctx, c.row); err != nil {
			return nil, err
		}
		if err := c.made.add(ctx, c.out[i]); err != nil {
			return nil, err
		}
	}
	return c.out, nil
}

// matches is =~. It takes as long as its texts are, so it looks at the context row by row.
type matches struct {
	binary
	r *run
}

func (o *matches) eval(ctx context.Context, b *batch, s sel) ([]graph.Value, error) {
	f := o.f
	o.f = func(x, y graph.Value) (graph.Value, error) {
		if err := o.r.alive(ctx); err != nil {
			return graph.Value{}, err
		}
		return f(x, y)
	}
	defer func() { o.f = f }()
	return o.binary.eval(ctx, b, s)
}
