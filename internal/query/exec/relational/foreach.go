package relational

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// foreach runs a writing subplan for each element of a list and passes on its input rows.
type foreach struct {
	runtime.Input
	r        *runtime.Run
	es       *expr.Evaluators
	list     runtime.Evaluator
	frame    *runtime.Frame
	sub      runtime.Operator
	batched  bool          // the subplan runs for many elements at once
	captured []int         // positions of the outer columns that the subplan reads
	inner    runtime.Batch // these columns, then the variable
	rows     runtime.Sel
	from     []int
	out      runtime.Batch
}

// Foreach compiles a Foreach.
func Foreach(c *compile.Compiler, n *plan.Foreach, need plan.ColSet) *runtime.Stage {
	sub := c.Sub(n.Sub, plan.NewColSet())
	below := c.Below(need, n.List)
	var outer []plan.Col
	for _, col := range sub.Args {
		if col != n.Var {
			outer = append(outer, col)
		}
	}
	below.Add(outer...)
	below.Remove(n.Var)
	in := c.Compile(n.Input, below)
	c.Bound(in, outer...)
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Subplans: []*runtime.Subplan{sub}, Cols: compile.Kept(in.Cols, need)}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		f := &foreach{
			Input: runtime.Input{In: kids[0]}, r: r, es: expr.New(r, in.Cols), captured: in.Positions(outer), from: in.Positions(s.Cols),
			batched: n.Batched,
		}
		f.list = f.es.Add(n.List)
		f.frame, f.sub = r.BuildSub(sub, append(slices.Clone(outer), n.Var))
		return f
	}
	return s
}

func (f *foreach) Next(ctx context.Context) (*runtime.Batch, error) {
	b, err := f.In.Next(ctx)
	if b == nil || err != nil {
		return nil, err
	}
	s := runtime.AllRows(b.N)
	f.es.Begin(s)
	lists, err := f.list.Eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	size := 1
	if f.batched {
		size = f.r.BatchSize()
	}
	f.empty()
	for _, i := range s {
		v := lists[i]
		if v.IsNull() {
			continue
		}
		if v.Kind() != graph.List {
			return nil, expr.NotList(v)
		}
		for _, e := range v.List() {
			f.rows = append(f.rows, i)
			c := &f.inner.Cols[len(f.captured)]
			c.Vals = append(c.Vals, e)
			if len(f.rows) == size {
				if err := f.flush(ctx, b); err != nil {
					return nil, err
				}
			}
		}
	}
	if err := f.flush(ctx, b); err != nil {
		return nil, err
	}
	f.out.View(b, f.from)
	return &f.out, nil
}

func (f *foreach) empty() {
	f.inner.Reset(len(f.captured) + 1)
	f.rows = f.rows[:0]
}

// flush runs the subplan for the collected elements.
func (f *foreach) flush(ctx context.Context, b *runtime.Batch) error {
	if len(f.rows) == 0 {
		return nil
	}
	for k, p := range f.captured {
		runtime.AppendColumn(&f.inner.Cols[k], &b.Cols[p], f.rows)
	}
	f.inner.N = len(f.rows)
	f.frame.In = &f.inner
	if err := f.sub.Open(ctx); err != nil {
		return err
	}
	for {
		out, err := f.sub.Next(ctx)
		if err != nil {
			return err
		}
		if out == nil {
			break
		}
	}
	f.empty()
	return nil
}

func (f *foreach) Close() {
	f.sub.Close()
	f.In.Close()
}
