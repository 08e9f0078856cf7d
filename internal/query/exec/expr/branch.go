package expr

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

// branches is CASE: each WHEN is evaluated only for the rows that matched no earlier one, each THEN only for the rows of its WHEN.
type branches struct {
	when      []runtime.Selector
	then      []runtime.Evaluator
	otherwise runtime.Evaluator // nil: null
	todo      runtime.Sel
	out       []graph.Value
}

func (c *branches) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	c.out = Grown(c.out, b.N)
	c.todo = append(c.todo[:0], s...)
	for k := range c.when {
		if len(c.todo) == 0 {
			return c.out, nil
		}
		taken, err := c.when[k].Select(ctx, b, c.todo)
		if err != nil {
			return nil, err
		}
		if len(taken) == 0 {
			continue
		}
		if err := c.fill(ctx, c.then[k], b, taken); err != nil {
			return nil, err
		}
		c.todo = without(c.todo, taken)
	}
	return c.out, c.fill(ctx, c.otherwise, b, c.todo)
}

// fill fills the rows of s from x.
func (c *branches) fill(ctx context.Context, x runtime.Evaluator, b *runtime.Batch, s runtime.Sel) error {
	if x == nil {
		for _, i := range s {
			c.out[i] = graph.Value{}
		}
		return nil
	}
	if len(s) == 0 {
		return nil
	}
	vs, err := x.Eval(ctx, b, s)
	if err != nil {
		return err
	}
	for _, i := range s {
		c.out[i] = vs[i]
	}
	return nil
}

// without removes the rows of t, all of which are in s, from s in place.
func without(s, t runtime.Sel) runtime.Sel {
	left := s[:0]
	for _, i := range s {
		if len(t) > 0 && t[0] == i {
			t = t[1:]
			continue
		}
		left = append(left, i)
	}
	return left
}

// coalesce is the first argument that is not null; later ones are not computed.
type coalesce struct {
	args []runtime.Evaluator
	todo runtime.Sel
	out  []graph.Value
}

func (c *coalesce) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	c.out = Grown(c.out, b.N)
	for _, i := range s {
		c.out[i] = graph.Value{}
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
			if c.out[i] = vs[i]; vs[i].IsNull() {
				left = append(left, i)
			}
		}
		c.todo = left
	}
	return c.out, nil
}
