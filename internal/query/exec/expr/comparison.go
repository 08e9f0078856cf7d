package expr

import (
	"context"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// comparison is =, <>, <, <=, > or >=.
type comparison struct {
	r    *runtime.Run
	op   plan.OpCode
	x, y runtime.Evaluator
	out  []graph.Value
	kept selection
}

func (c *comparison) args(ctx context.Context, b *runtime.Batch, s runtime.Sel) (xs, ys []graph.Value, err error) {
	if xs, err = c.x.Eval(ctx, b, s); err != nil {
		return nil, nil, err
	}
	ys, err = c.y.Eval(ctx, b, s)
	return xs, ys, err
}

func (c *comparison) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	xs, ys, err := c.args(ctx, b, s)
	if err != nil {
		return nil, err
	}
	c.out = Grown(c.out, b.N)
	for _, i := range s {
		if err := c.r.CheckLargePair(ctx, xs[i], ys[i]); err != nil {
			return nil, err
		}
		c.out[i] = compare(c.op, xs[i], ys[i]).Value()
	}
	return c.out, nil
}

// Select implements runtime.Selector.
func (c *comparison) Select(ctx context.Context, b *runtime.Batch, s runtime.Sel) (runtime.Sel, error) {
	xs, ys, err := c.args(ctx, b, s)
	if err != nil {
		return nil, err
	}
	rows := c.kept.begin(s)
	if k, ok := fixed(c.y); ok {
		switch k.Kind() {
		case graph.Null:
			return c.kept.end(b, rows), nil
		case graph.Int:
			return c.kept.end(b, filterInts(c.op, xs, k, s, rows)), nil
		case graph.String:
			return c.kept.end(b, filterStrings(c.op, xs, k, s, rows)), nil
		}
	}
	for _, i := range s {
		if err := c.r.CheckLargePair(ctx, xs[i], ys[i]); err != nil {
			return nil, err
		}
		if compare(c.op, xs[i], ys[i]) == yes {
			rows = append(rows, i)
		}
	}
	return c.kept.end(b, rows), nil
}

// filterInts appends to dst the rows of s whose values compare so with an integer. dst and s share no memory.
func filterInts(op plan.OpCode, xs []graph.Value, k graph.Value, s, dst runtime.Sel) runtime.Sel {
	n := k.Int()
	for _, i := range s {
		x := xs[i]
		if x.Kind() != graph.Int {
			if !x.IsNull() && compareSlow(op, x, k) == yes {
				dst = append(dst, i)
			}
			continue
		}
		if v := x.Int(); holds(op, v < n, v == n) {
			dst = append(dst, i)
		}
	}
	return dst
}

// filterStrings is filterInts for a string.
func filterStrings(op plan.OpCode, xs []graph.Value, k graph.Value, s, dst runtime.Sel) runtime.Sel {
	str := k.Str()
	for _, i := range s {
		x := xs[i]
		if x.Kind() != graph.String {
			if !x.IsNull() && compareSlow(op, x, k) == yes {
				dst = append(dst, i)
			}
			continue
		}
		var less, equal bool
		if op == plan.Eq || op == plan.Ne {
			equal = x.Str() == str
		} else {
			c := strings.Compare(x.Str(), str)
			less, equal = c < 0, c == 0
		}
		if holds(op, less, equal) {
			dst = append(dst, i)
		}
	}
	return dst
}

// holds reports whether a comparison holds given the order of its operands.
func holds(op plan.OpCode, less, equal bool) bool {
	switch op {
	case plan.Eq:
		return equal
	case plan.Ne:
		return !equal
	case plan.Lt:
		return less
	case plan.Le:
		return less || equal
	case plan.Gt:
		return !less && !equal
	}
	return !less
}

// compare is the comparison of two values.
func compare(op plan.OpCode, x, y graph.Value) fn.Ternary {
	if x.Kind() == graph.Int && y.Kind() == graph.Int {
		return fn.TernaryOf(holds(op, x.Int() < y.Int(), x.Int() == y.Int()))
	}
	return compareSlow(op, x, y)
}

func compareSlow(op plan.OpCode, x, y graph.Value) fn.Ternary {
	switch op {
	case plan.Eq:
		return fn.Equal(x, y)
	case plan.Ne:
		return fn.Equal(x, y).Not()
	case plan.Lt:
		return fn.Less(x, y)
	case plan.Le:
		return fn.LessEqual(x, y)
	case plan.Gt:
		return fn.Greater(x, y)
	}
	return fn.GreaterEqual(x, y)
}
