package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/query/plan"
)

// set changes properties and labels and passes its rows on.
type set struct {
	input
	setter *setter
	from   []int
	out    batch
}

// setNeeds gives the columns that SET items read, besides need.
func (c *compiler) setNeeds(items []plan.SetItem, need plan.ColSet) plan.ColSet {
	var exprs []plan.Expr
	for _, it := range items {
		exprs = append(append(exprs, it.X, it.KeyOf, it.Value), it.LabelsOf...)
	}
	return c.below(need, exprs...)
}

func (c *compiler) set(n *plan.Set, need plan.ColSet) *stage {
	below := c.setNeeds(n.Items, need)
	in := c.compile(n.Input, below)
	c.wrote = true
	s := &stage{node: n, kids: []*stage{in}, cols: kept(in.cols, need)}
	s.build = func(r *run, kids []operator) operator {
		return &set{input: input{kids[0]}, setter: newSetter(r, n.Items, in.cols), from: in.positions(s.cols)}
	}
	return s
}

func (o *set) next(ctx context.Context) (*batch, error) {
	b, err := o.in.next(ctx)
	if b == nil || err != nil {
		return nil, err
	}
	if err := o.setter.run(ctx, b, allRows(b.N)); err != nil {
		return nil, err
	}
	o.out.view(b, o.from)
	return &o.out, nil
}
