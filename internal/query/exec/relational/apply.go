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

// Apply compiles an Apply.
func Apply(c *compile.Compiler, n *plan.Apply, need plan.ColSet) *runtime.Stage {
	below := plan.NewColSet()
	below.AddAll(need)
	inner := plan.NewColSet()
	var x plan.Expr // the collected expression
	switch n.Kind {
	case plan.Inner, plan.Optional:
		for _, col := range n.Cols {
			if need.Has(col) {
				inner.Add(col)
				below.Remove(col)
			}
		}
	case plan.Collect:
		x = c.ByEdge(n.Expr, n.Sub)
		inner = c.Below(plan.ColSet{}, x)
	}
	sub := c.Sub(n.Sub, inner)
	sub.Expr = x
	below.Add(sub.Args...)
	in := c.Compile(n.Input, below)
	c.Bound(in, sub.Args...)
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Subplans: []*runtime.Subplan{sub}, Cols: compile.Kept(in.Cols, need)}
	switch n.Kind {
	case plan.Inner, plan.Optional:
		outer := len(s.Cols)
		for _, col := range n.Cols {
			if need.Has(col) {
				s.Cols = append(s.Cols, col)
			}
		}
		s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
			a := &applyRows{
				Input: runtime.Input{In: kids[0]}, outer: outer, outerFrom: append(in.Positions(s.Cols[:outer]), slices.Repeat(nowhere, len(s.Cols)-outer)...),
				innerFrom: append(slices.Repeat(nowhere, outer), sub.Root.Positions(s.Cols[outer:])...), optional: n.Kind == plan.Optional,
				inOrder: inOrder(sub.Root), alone: sub.Writes && !n.Batched, r: r,
			}
			a.frame, a.sub = r.BuildSub(sub, in.Cols)
			return a
		}
	default:
		s.Cols = compile.Kept(in.Cols, need, n.Out)
		s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
			return &applyValue{
				Input: runtime.Input{In: kids[0]}, r: r, g: expr.NewGather(r, sub, n.Kind, in.Cols), from: in.Positions(s.Cols),
			}
		}
	}
	return s
}

// nowhere is the position of a column that the input lacks.
var nowhere = []int{-1}

// applyValue adds a value of the subplan to each outer row.
type applyValue struct {
	runtime.Input
	r    *runtime.Run
	g    *expr.Gather
	from []int // input position of each column; -1 for the value
	out  runtime.Batch
	late runtime.Late
	part runtime.Batch // the rows before one that fails
}

// Open implements runtime.Operator.
func (a *applyValue) Open(ctx context.Context) error {
	a.late = runtime.Late{}
	return a.In.Open(ctx)
}

func (a *applyValue) Next(ctx context.Context) (*runtime.Batch, error) {
	if a.late.Waits() {
		return nil, a.late.Take()
	}
	b, err := a.In.Next(ctx)
	if b == nil || err != nil {
		return nil, err
	}
	vs, err := a.g.Run(ctx, b)
	if err != nil {
		if vs, err = a.before(ctx, b, err); err != nil {
			return nil, err
		}
		b = &a.part
	}
	a.out.N, a.out.Row = b.N, b.Row
	a.out.Cols = a.out.Cols[:0]
	for _, p := range a.from {
		c := graph.Column{Vals: vs[:b.N]}
		if p >= 0 {
			c = b.Cols[p]
		}
		a.out.Cols = append(a.out.Cols, c)
	}
	return &a.out, nil
}

// before computes the rows of b that precede the one that fails, which it takes to part.
func (a *applyValue) before(ctx context.Context, b *runtime.Batch, err error) (vs []graph.Value, _ error) {
	_, err = a.late.Before(a.r, b.N, err, func(k int) (err error) {
		a.part.Slice(b, 0, k)
		vs, err = a.g.Run(ctx, &a.part)
		return err
	})
	return vs, err
}

func (a *applyValue) Close() {
	a.g.Close()
	a.In.Close()
}

// applyRows joins outer rows with the rows of their subplan. If the subplan fails for an outer batch, it runs again for each of its rows, up to
// the one that fails, to return those that the rows before have not got yet.
type applyRows struct {
	runtime.Input
	r                    *runtime.Run
	frame                *runtime.Frame
	sub                  runtime.Operator
	outer                int // the number of columns of the outer rows
	outerFrom, innerFrom []int
	optional             bool
	alone                bool // the outer rows come one at a time
	inOrder              bool // the subplan keeps the order of the outer rows, so those without rows are returned among them

	b       *runtime.Batch // the outer batch
	one     runtime.Batch  // one row of it, for alone and late
	at      int            // the row of b that one is of, or the first of part
	late    runtime.Late   // the error of the subplan for b as a whole
	given   []bool         // with late: rows of b that have been returned before
	part    *runtime.Batch // the rows of the frame: b or one; nil: the next part has not been read
	matched []bool         // rows of part that have been returned, with or without rows of the subplan
	settled int32          // with inOrder: all rows before this one are matched
	rows    runtime.Sel
	inner   runtime.Sel // parallel to rows: rows of the subplan's batch, or -1
	out     runtime.Batch
}

// inOrder reports whether an operator of a subplan returns all rows of an outer row before those of later ones.
func inOrder(s *runtime.Stage) bool {
	switch s.Node.(type) {
	case *plan.Argument, *plan.Sort:
		return true
	case *plan.Filter, *plan.Project, *plan.HashJoin, *plan.Seek:
		return inOrder(s.Inputs[0])
	}
	return false
}

func (a *applyRows) Open(ctx context.Context) error {
	a.b, a.part, a.late = nil, nil, runtime.Late{}
	return a.In.Open(ctx)
}

func (a *applyRows) Next(ctx context.Context) (*runtime.Batch, error) {
	for {
		if a.part == nil {
			more, err := a.advance(ctx)
			if more && err != nil && a.split(err) {
				continue
			}
			if !more || err != nil {
				return nil, err
			}
		}
		b, err := a.sub.Next(ctx)
		if err != nil {
			if !a.split(err) {
				return nil, err
			}
			continue
		}
		again := a.late.Waits() && a.given[a.at]
		if again && b != nil {
			continue
		}
		a.out.Reset(len(a.outerFrom))
		if b == nil {
			part := a.part
			a.part = nil
			if a.optional && !again && a.unmatched(part) {
				return &a.out, nil
			}
			continue
		}
		if a.optional && a.inOrder && a.skips(b.Row) {
			a.fill(b)
			return &a.out, nil
		}
		a.joinOuter(a.part, b.Row)
		inner := *b
		inner.Row = nil
		a.out.AppendRows(&inner, a.innerFrom, runtime.AllRows(b.N))
		a.out.N = b.N
		for _, row := range b.Row {
			a.matched[row] = true
		}
		a.settled = b.Row[b.N-1] + 1
		return &a.out, nil
	}
}

// split has the subplan run again for each row of the outer batch, and reports false if it has run for one row, or cannot.
func (a *applyRows) split(err error) bool {
	if a.late.Waits() || a.part.N < 2 || !a.late.Hold(a.r, err) {
		return false
	}
	a.given = append(a.given[:0], a.matched...)
	a.at, a.part = -1, nil
	return true
}

// skips reports whether there are rows of part without rows before or among the given ones.
func (a *applyRows) skips(rows runtime.Sel) bool {
	at := a.settled
	for _, row := range rows {
		if row > at {
			return true
		}
		at = row + 1
	}
	return false
}

// fill joins a batch of the subplan with its outer rows and inserts the rows that it skips, with nulls.
func (a *applyRows) fill(b *runtime.Batch) {
	a.rows, a.inner = a.rows[:0], a.inner[:0]
	for i, row := range b.Row {
		for ; a.settled < row; a.settled++ {
			a.rows, a.inner = append(a.rows, a.settled), append(a.inner, -1)
			a.matched[a.settled] = true
		}
		a.rows, a.inner = append(a.rows, row), append(a.inner, int32(i))
		a.matched[row], a.settled = true, row+1
	}
	a.joinOuter(a.part, a.rows)
	for k := a.outer; k < len(a.outerFrom); k++ {
		dst, src := &a.out.Cols[k], &b.Cols[a.innerFrom[k]]
		runtime.ToValues(dst)
		for _, i := range a.inner {
			if i < 0 {
				dst.Vals = append(dst.Vals, graph.Value{})
			} else {
				dst.Vals = append(dst.Vals, src.Value(int(i)))
			}
		}
	}
	a.out.N = len(a.rows)
}

// advance opens the subplan over the next outer rows.
func (a *applyRows) advance(ctx context.Context) (bool, error) {
	single := a.alone || a.late.Waits()
	if a.b == nil || !single || a.at+1 >= a.b.N {
		if a.late.Waits() {
			return false, a.late.Take()
		}
		b, err := a.In.Next(ctx)
		if b == nil || err != nil {
			a.b = nil
			return false, err
		}
		a.b, a.at, a.part = b, 0, b
	} else {
		a.at++
	}
	if single {
		a.one.Slice(a.b, a.at, a.at+1)
		a.part = &a.one
	}
	a.frame.In = a.part
	a.matched, a.settled = append(a.matched[:0], make([]bool, a.part.N)...), 0
	return true, a.sub.Open(ctx)
}

// joinOuter appends the outer cells of the given rows of part.
func (a *applyRows) joinOuter(part *runtime.Batch, rows runtime.Sel) {
	a.out.AppendRows(part, a.outerFrom, rows)
}

// unmatched fills out with the unmatched rows of part and nulls; it reports whether there are any.
func (a *applyRows) unmatched(part *runtime.Batch) bool {
	a.rows = a.rows[:0]
	for i, m := range a.matched {
		if !m {
			a.rows = append(a.rows, int32(i))
		}
	}
	if len(a.rows) == 0 {
		return false
	}
	a.joinOuter(part, a.rows)
	for k := a.outer; k < len(a.outerFrom); k++ {
		runtime.AppendNulls(&a.out.Cols[k], len(a.rows))
	}
	a.out.N = len(a.rows)
	return true
}

func (a *applyRows) Close() {
	a.sub.Close()
	a.In.Close()
}
