package relational

import (
	"context"

	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// eager consumes all rows before it returns the first.
type eager struct {
	runtime.Input
	r      *runtime.Run
	from   []int
	spool  runtime.Buffer
	filled bool
}

// Eager compiles an Eager.
func Eager(c *compile.Compiler, n *plan.Eager, need plan.ColSet) *runtime.Stage {
	in := c.Compile(n.Input, need)
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Cols: compile.Kept(in.Cols, need)}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		return &eager{Input: runtime.Input{In: kids[0]}, r: r, from: in.Positions(s.Cols), spool: runtime.Buffer{Acct: runtime.Account{Run: r, Name: "Eager"}}}
	}
	return s
}

func (e *eager) Open(ctx context.Context) error {
	e.filled = false
	e.spool.Reset(len(e.from))
	return e.In.Open(ctx)
}

func (e *eager) Next(ctx context.Context) (*runtime.Batch, error) {
	for !e.filled {
		b, err := e.In.Next(ctx)
		if err != nil {
			return nil, err
		}
		if b == nil {
			e.filled = true
			break
		}
		if err := e.spool.Add(b, e.from); err != nil {
			return nil, err
		}
	}
	return e.spool.Next(e.r.BatchSize()), nil
}

func (e *eager) Close() {
	e.spool.Acct.Release()
	e.In.Close()
}

// drain runs its input to the end and returns no row.
type drain struct{ runtime.Input }

// Drain compiles a Drain.
func Drain(c *compile.Compiler, n *plan.Drain) *runtime.Stage {
	in := c.Compile(n.Input, plan.NewColSet())
	return &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Build: func(_ *runtime.Run, kids []runtime.Operator) runtime.Operator {
		return &drain{runtime.Input{In: kids[0]}}
	}}
}

func (d *drain) Next(ctx context.Context) (*runtime.Batch, error) {
	for {
		b, err := d.In.Next(ctx)
		if b == nil || err != nil {
			return nil, err
		}
	}
}
