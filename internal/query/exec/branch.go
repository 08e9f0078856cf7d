package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
)

// branches is CASE: each WHEN is tested only for the rows that none before it has taken, each THEN computed only for
// the rows that its WHEN has taken.
type branches struct {
	when, then []evaluator
	otherwise  evaluator // nil: null
	todo       sel
	taken      sel
	out        []graph.Value
}

func (c *branches) eval(ctx context.Context, b *batch, s sel) ([]graph.Value, error) {
	c.out = grown(c.out, b.N)
	c.todo = append(c.todo[:0], s...)
	for k := range c.when {
		if len(c.todo) == 0 {
			return c.out, nil
		}
		taken, err := pick(ctx, c.when[k], b, c.todo, c.taken[:0])
		if err != nil {
			return nil, err
		}
		c.taken = taken
		if len(taken) == 0 {
			continue
		}
		if err := c.give(ctx, c.then[k], b, taken); err != nil {
			return nil, err
		}
		c.todo = without(c.todo, taken)
	}
	return c.out, c.give(ctx, c.otherwise, b, c.todo)
}

// give fills the rows of s from x.
func (c *branches) give(ctx context.Context, x evaluator, b *batch, s sel) error {
	if x == nil {
		for _, i := range s {
			c.out[i] = graph.Value{}
		}
		return nil
	}
	if len(s) == 0 {
		return nil
	}
	vs, err := x.eval(ctx, b, s)
	if err != nil {
		return err
	}
	for _, i := range s {
		c.out[i] = vs[i]
	}
	return nil
}

// without takes the rows of t, all of which are in s, out of s in place.
func without(s, t sel) sel {
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

// coalesce gives the first argument that is not null; those after it are not computed.
type coalesce struct {
	args []evaluator
	todo sel
	out  []graph.Value
}

func (c *coalesce) eval(ctx context.Context, b *batch, s sel) ([]graph.Value, error) {
	c.out = grown(c.out, b.N)
	for _, i := range s {
		c.out[i] = graph.Value{}
	}
	c.todo = append(c.todo[:0], s...)
	for _, a := range c.args {
		if len(c.todo) == 0 {
			break
		}
		vs, err := a.eval(ctx, b, c.todo)
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
