package write

import (
	"context"

	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// set changes properties and labels and passes on its rows.
type set struct {
	runtime.Input
	setter *setter
	from   []int
	out    runtime.Batch
}

// setNeeds returns the columns that SET items read, besides need.
func setNeeds(c *compile.Compiler, items []plan.SetItem, need plan.ColSet) plan.ColSet {
	var exprs []plan.Expr
	for _, it := range items {
		exprs = append(append(exprs, it.X, it.KeyOf, it.Value), it.LabelsOf...)
	}
	return c.Below(need, exprs...)
}

// Set compiles a Set.
func Set(c *compile.Compiler, n *plan.Set, need plan.ColSet) *runtime.Stage {
	below := setNeeds(c, n.Items, need)
	in := c.Compile(n.Input, below)
	c.Wrote = true
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Cols: compile.Kept(in.Cols, need)}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		return &set{Input: runtime.Input{In: kids[0]}, setter: newSetter(r, n.Items, in.Cols), from: in.Positions(s.Cols)}
	}
	return s
}

func (o *set) Next(ctx context.Context) (*runtime.Batch, error) {
	b, err := o.In.Next(ctx)
	if b == nil || err != nil {
		return nil, err
	}
	if err := o.setter.run(ctx, b, runtime.AllRows(b.N)); err != nil {
		return nil, err
	}
	o.out.View(b, o.from)
	return &o.out, nil
}
