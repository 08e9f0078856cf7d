package source

import (
	"context"

	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// argument returns the rows of the frame; at the top level, one row without columns.
type argument struct {
	frame *runtime.Frame
	from  []int // positions in frame.sub.args
	out   runtime.Batch
	one   bool // the row has been returned
}

// Argument compiles an Argument, or a Unit, which has no columns.
func Argument(c *compile.Compiler, n plan.Node, cols []plan.Col, need plan.ColSet) *runtime.Stage {
	s := &runtime.Stage{Node: n}
	for _, col := range cols {
		if need.Has(col) {
			s.Cols = append(s.Cols, col)
		}
	}
	c.Args.Add(s.Cols...)
	s.Build = func(r *runtime.Run, _ []runtime.Operator) runtime.Operator {
		a := &argument{frame: r.Frame}
		if r.Frame != nil {
			a.from = (&runtime.Stage{Cols: r.Frame.Sub.Args}).Positions(s.Cols)
		}
		return a
	}
	return s
}

func (a *argument) Open(context.Context) error {
	a.one = false
	return nil
}

func (a *argument) Next(context.Context) (*runtime.Batch, error) {
	if a.one || a.frame.Rows() == 0 {
		return nil, nil
	}
	a.one = true
	if a.frame == nil {
		a.out.N = 1
		return &a.out, nil
	}
	a.out.N = a.frame.In.N
	a.out.Row = runtime.AllRows(a.out.N)
	a.out.Cols = a.out.Cols[:0]
	for _, p := range a.from {
		a.out.Cols = append(a.out.Cols, a.frame.In.Cols[a.frame.From[p]])
	}
	return &a.out, nil
}

func (a *argument) Close() {}
