package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// unwind joins each row with the elements of a list. The list of range() is counted, not made.
type unwind struct {
	input
	r     *run
	es    *evaluators
	list  evaluator // nil: a range
	rng   tuple     // the arguments of range()
	pos   graph.Pos // of range()
	from  []int     // input position of each column; -1 for the elements
	at    int       // of the elements among the columns, or -1
	b     *batch
	vs    []graph.Value
	row   int  // the next row of b
	begun bool // whether it has been looked at
	left  []graph.Value
	num   numbers // of a range, likewise
	args  []graph.Value
	rows  sel
	out   batch
}

// numbers are n numbers from next by step.
type numbers struct{ next, step, n int64 }

func (c *compiler) unwind(n *plan.Unwind, need plan.ColSet) *stage {
	below := c.below(need, n.List)
	in := c.compile(n.Input, below)
	s := &stage{node: n, kids: []*stage{in}, cols: kept(in.cols, need, n.Out)}
	s.build = func(r *run, kids []operator) operator {
		u := &unwind{input: input{kids[0]}, r: r, es: r.evaluators(in.cols), from: in.positions(s.cols), at: s.pos(n.Out)}
		if call, ok := n.List.(*plan.Call); ok && call.Func == "range" && (len(call.Args) == 2 || len(call.Args) == 3) {
			u.rng, u.pos = newTuple(u.es.addAll(call.Args)), call.Pos
			u.args = make([]graph.Value, len(call.Args))
		} else {
			u.list = u.es.add(n.List)
		}
		return u
	}
	return s
}

func (u *unwind) open(ctx context.Context) error {
	u.b = nil
	return u.in.open(ctx)
}

func (u *unwind) next(ctx context.Context) (*batch, error) {
	u.out.reset(len(u.from))
	for {
		if u.b == nil {
			b, err := u.in.next(ctx)
			if b == nil || err != nil {
				return nil, err
			}
			if err := u.begin(ctx, b); err != nil {
				return nil, err
			}
		}
		if err := u.fill(); err != nil {
			return nil, err
		}
		b := u.b
		if u.row == b.N {
			u.b = nil
		}
		if len(u.rows) > 0 {
			u.out.appendRows(b, u.from, u.rows)
			u.out.N = len(u.rows)
			return &u.out, nil
		}
	}
}

func (u *unwind) begin(ctx context.Context, b *batch) (err error) {
	s := allRows(b.N)
	u.es.begin(s)
	u.b, u.row, u.begun = b, 0, false
	if u.list == nil {
		return u.rng.run(ctx, b, s)
	}
	u.vs, err = u.list.eval(ctx, b, s)
	return err
}

// fill takes elements until the batch is full or the rows are done.
func (u *unwind) fill() error {
	u.rows = u.rows[:0]
	for u.row < u.b.N {
		if !u.begun {
			if err := u.look(); err != nil {
				return err
			}
			u.begun = true
		}
		room := u.r.batchSize() - len(u.rows)
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
		u.rows = appendRepeated(u.rows, int32(u.row), n)
		if n == room && (len(u.left) > 0 || u.num.n > 0) {
			return nil
		}
		u.row, u.begun = u.row+1, false
	}
	return nil
}

// look finds the elements of the next row.
func (u *unwind) look() (err error) {
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
		if u.args[k] = u.rng.cols[k][u.row]; u.args[k].IsNull() {
			return nil
		}
	}
	if u.num.next, u.num.step, u.num.n, err = fn.RangeBounds(u.args); err != nil {
		return graph.AsError(err).At(u.pos)
	}
	return nil
}

// count takes n numbers.
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
