package relational

import (
	"context"

	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// union returns the rows of its inputs one after another.
type union struct {
	ins  []runtime.Operator
	from [][]int // by input: the position of each column
	at   int
	out  runtime.Batch
}

// Union compiles an Union.
func Union(c *compile.Compiler, n *plan.Union, need plan.ColSet) *runtime.Stage {
	s := &runtime.Stage{Node: n}
	var out []int // of n.Out
	for j, col := range n.Out {
		if need.Has(col) || !n.All {
			s.Cols = append(s.Cols, col)
			out = append(out, j)
		}
	}
	from := make([][]int, len(n.Inputs))
	for i, node := range n.Inputs {
		var cols []plan.Col
		for _, j := range out {
			cols = append(cols, n.Cols[i][j])
		}
		below := plan.NewColSet()
		below.Add(cols...)
		in := c.Compile(node, below)
		c.Bound(in, cols...)
		s.Inputs = append(s.Inputs, in)
		from[i] = in.Positions(cols)
	}
	all := func(_ *runtime.Run, kids []runtime.Operator) runtime.Operator { return &union{ins: kids, from: from} }
	s.Build = all
	if !n.All {
		s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
			return newDistinct(r, all(r, kids), runtime.AllPositions(len(s.Cols)), runtime.AllPositions(len(s.Cols)))
		}
	}
	return s
}

func (u *union) Open(ctx context.Context) error {
	u.at = 0
	for _, in := range u.ins {
		if err := in.Open(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (u *union) Next(ctx context.Context) (*runtime.Batch, error) {
	for ; u.at < len(u.ins); u.at++ {
		b, err := u.ins[u.at].Next(ctx)
		if err != nil {
			return nil, err
		}
		if b != nil {
			u.out.View(b, u.from[u.at])
			return &u.out, nil
		}
	}
	return nil, nil
}

func (u *union) Close() {
	for _, in := range u.ins {
		in.Close()
	}
}
