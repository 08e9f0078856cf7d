package relational

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// unwind joins each row with the elements of a list. It counts through range() without creating the list.
type unwind struct {
	runtime.Input
	r     *runtime.Run
	es    *expr.Evaluators
	list  runtime.Evaluator // nil: a range
	rng   expr.Tuple        // the arguments of range()
	pos   graph.Pos         // of range()
	from  []int             // input position of each column; -1 for the elements
	at    int               // of the elements among the columns, or -1
	b     *runtime.Batch
	vs    []graph.Value
	row   int  // the next row of b
	begun bool // the elements of row are known
	left  []graph.Value
	num   numbers // of a range, likewise
	args  []graph.Value
	rows  runtime.Sel
	out   runtime.Batch
	late  runtime.Late
	part  runtime.Batch // the rows before one that fails
}

// numbers are n numbers from next in steps of step.
type numbers struct{ next, step, n int64 }

// Unwind compiles an Unwind.
func Unwind(c *compile.Compiler, n *plan.Unwind, need plan.ColSet) *runtime.Stage {
	below := c.Below(need, n.List)
	in := c.Compile(n.Input, below)
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Cols: compile.Kept(in.Cols, need, n.Out)}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		u := &unwind{Input: runtime.Input{In: kids[0]}, r: r, es: expr.New(r, in.Cols), from: in.Positions(s.Cols), at: s.Pos(n.Out)}
		if call, ok := n.List.(*plan.Call); ok && call.Func == "range" && (len(call.Args) == 2 || len(call.Args) == 3) {
			u.rng, u.pos = expr.NewTuple(u.es.AddAll(call.Args)), call.Pos
			u.args = make([]graph.Value, len(call.Args))
		} else {
			u.list = u.es.Add(n.List)
		}
		return u
	}
	return s
}

func (u *unwind) Open(ctx context.Context) error {
	u.b, u.late = nil, runtime.Late{}
	return u.In.Open(ctx)
}

func (u *unwind) Next(ctx context.Context) (*runtime.Batch, error) {
	u.out.Reset(len(u.from))
	for {
		if u.b == nil {
			if u.late.Waits() {
				return nil, u.late.Take()
			}
			b, err := u.In.Next(ctx)
			if b == nil || err != nil {
				return nil, err
			}
			if err := u.begin(ctx, b); err != nil {
				return nil, err
			}
		}
		b := u.b
		if err := u.fill(); err != nil {
			if len(u.rows) == 0 || !u.late.Hold(u.r, err) {
				return nil, err
			}
			u.b = nil
		} else if u.row == b.N {
			u.b = nil
		}
		if len(u.rows) > 0 {
			u.out.AppendRows(b, u.from, u.rows)
			u.out.N = len(u.rows)
			return &u.out, nil
		}
	}
}

// begin starts on the rows of b, or those before one that fails.
func (u *unwind) begin(ctx context.Context, b *runtime.Batch) error {
	err := u.compute(ctx, b)
	if err == nil {
		return nil
	}
	_, err = u.late.Before(u.r, b.N, err, func(k int) error {
		u.part.Slice(b, 0, k)
		return u.compute(ctx, &u.part)
	})
	return err
}

// compute computes the lists of b.
func (u *unwind) compute(ctx context.Context, b *runtime.Batch) (err error) {
	s := runtime.AllRows(b.N)
	u.es.Begin(s)
	u.b, u.row, u.begun = b, 0, false
	if u.list == nil {
		return u.rng.Run(ctx, b, s)
	}
	u.vs, err = u.list.Eval(ctx, b, s)
	return err
}

// fill writes elements until the batch is full or the rows end.
func (u *unwind) fill() error {
	u.rows = u.rows[:0]
	for u.row < u.b.N {
		if !u.begun {
			if err := u.readList(); err != nil {
				return err
			}
			u.begun = true
		}
		room := u.r.BatchSize() - len(u.rows)
		var n int
		if u.list == nil {
			n = int(min(int64(room), u.num.n))
			u.count(n)
		} else {
			n = min(room, len(u.left))
			if u.at >= 0 {
				c := &u.out.Cols[u.at]
				c.Vals = append(c.Vals, u.left[:n]...)
			}
			u.left = u.left[n:]
		}
		u.rows = runtime.AppendRepeated(u.rows, int32(u.row), n)
		if n == room && (len(u.left) > 0 || u.num.n > 0) {
			return nil
		}
		u.row, u.begun = u.row+1, false
	}
	return nil
}

// readList reads the elements of the next row.
func (u *unwind) readList() (err error) {
	u.left, u.num = nil, numbers{}
	if u.list != nil {
		switch v := u.vs[u.row]; v.Kind() {
		case graph.Null:
		case graph.List:
			u.left = v.List()
		default:
			u.left = u.vs[u.row : u.row+1]
		}
		return nil
	}
	for k := range u.args {
		if u.args[k] = u.rng.Cols[k][u.row]; u.args[k].IsNull() {
			return nil
		}
	}
	if u.num.next, u.num.step, u.num.n, err = fn.RangeBounds(u.args); err != nil {
		return graph.AsError(err).At(u.pos)
	}
	return nil
}

// count writes n numbers.
func (u *unwind) count(n int) {
	for range n {
		if u.at >= 0 {
			c := &u.out.Cols[u.at]
			c.Vals = append(c.Vals, graph.IntValue(u.num.next))
		}
		u.num.next += u.num.step
	}
	u.num.n -= int64(n)
}
