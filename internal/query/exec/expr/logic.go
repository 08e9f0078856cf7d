package expr

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// connective is AND or OR. Each argument is evaluated only for the rows that earlier ones leave undecided.
type connective struct {
	args   []runtime.Evaluator
	sels   []runtime.Selector // the arguments, for Select
	or     bool
	truths []fn.Ternary
	todo   runtime.Sel
	kept   selection
	out    []graph.Value
}

func (c *connective) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	decided := no
	if c.or {
		decided = yes
	}
	for len(c.truths) < b.N {
		c.truths = append(c.truths, no)
	}
	for _, i := range s {
		c.truths[i] = decided.Not()
	}
	c.todo = append(c.todo[:0], s...)
	for _, a := range c.args {
		if len(c.todo) == 0 {
			break
		}
		vs, err := a.Eval(ctx, b, c.todo)
		if err != nil {
			return nil, err
		}
		left := c.todo[:0]
		for _, i := range c.todo {
			t, err := truth(vs[i])
			if err != nil {
				return nil, err
			}
			if c.or {
				t = c.truths[i].Or(t)
			} else {
				t = c.truths[i].And(t)
			}
			c.truths[i] = t
			if t != decided {
				left = append(left, i)
			}
		}
		c.todo = left
	}
	c.out = Grown(c.out, b.N)
	for _, i := range s {
		c.out[i] = c.truths[i].Value()
	}
	return c.out, nil
}

// Select implements runtime.Selector.
func (c *connective) Select(ctx context.Context, b *runtime.Batch, s runtime.Sel) (runtime.Sel, error) {
	if c.sels == nil {
		c.sels = selectors(c.args)
	}
	if c.or {
		return c.selectAny(ctx, b, s)
	}
	for _, a := range c.sels {
		var err error
		if s, err = a.Select(ctx, b, s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// selectAny selects the rows for which one of the arguments is true.
func (c *connective) selectAny(ctx context.Context, b *runtime.Batch, s runtime.Sel) (runtime.Sel, error) {
	c.todo = append(c.todo[:0], s...)
	rows := c.kept.begin(s)
	for _, a := range c.sels {
		if len(c.todo) == 0 {
			break
		}
		taken, err := a.Select(ctx, b, c.todo)
		if err != nil {
			return nil, err
		}
		if len(taken) > 0 {
			rows, c.todo = append(rows, taken...), without(c.todo, taken)
		}
	}
	slices.Sort(rows)
	return c.kept.end(b, rows), nil
}

// unary applies a function to one argument.
type unary struct {
	x   runtime.Evaluator
	f   func(graph.Value) (graph.Value, error)
	out []graph.Value
}

func (u *unary) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	vs, err := u.x.Eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	u.out = Grown(u.out, b.N)
	for _, i := range s {
		if u.out[i], err = u.f(vs[i]); err != nil {
			return nil, err
		}
	}
	return u.out, nil
}

// binary applies a function to two arguments.
type binary struct {
	r      *runtime.Run
	x, y   runtime.Evaluator
	f      func(x, y graph.Value) (graph.Value, error)
	memory *runtime.ValueMemory // for a function that joins its arguments; nil for others
	out    []graph.Value
}

func (o *binary) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	xs, err := o.x.Eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	ys, err := o.y.Eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	o.out = Grown(o.out, b.N)
	if o.memory != nil {
		o.memory.Begin()
	}
	for _, i := range s {
		if err := o.r.CheckLargePair(ctx, xs[i], ys[i]); err != nil {
			return nil, err
		}
		counted := o.memory == nil
		if !counted {
			if counted, err = o.memory.GrowJoined(ctx, xs[i], ys[i]); err != nil {
				return nil, err
			}
		}
		if o.out[i], err = o.f(xs[i], ys[i]); err != nil {
			return nil, err
		}
		if !counted {
			if err := o.memory.Add(ctx, o.out[i]); err != nil {
				return nil, err
			}
		}
	}
	return o.out, nil
}

// nullTest is IS NULL and, with not, IS NOT NULL.
type nullTest struct {
	x   runtime.Evaluator
	not bool
	out []graph.Value

	kept selection
}

func (n *nullTest) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	vs, err := n.x.Eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	n.out = Grown(n.out, b.N)
	for _, i := range s {
		n.out[i] = graph.BoolValue(vs[i].IsNull() != n.not)
	}
	return n.out, nil
}

// Select implements runtime.Selector.
func (n *nullTest) Select(ctx context.Context, b *runtime.Batch, s runtime.Sel) (runtime.Sel, error) {
	vs, err := n.x.Eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	rows := n.kept.begin(s)
	for _, i := range s {
		if vs[i].IsNull() != n.not {
			rows = append(rows, i)
		}
	}
	return n.kept.end(b, rows), nil
}
