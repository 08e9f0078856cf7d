package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// unwind joins each row with the elements of a list.
type unwind struct {
	input
	r    *run
	es   *evaluators
	list evaluator
	from []int // input position of each column; -1 for the elements
	at   int   // of the elements among the columns, or -1
	b    *batch
	vs   []graph.Value
	row  int // the next row of b
	elem int // the next element of its list
	rows sel
	out  batch
}

func (c *compiler) unwind(n *plan.Unwind, need plan.ColSet) (*stage, error) {
	below, err := c.below(need, n.List)
	if err != nil {
		return nil, err
	}
	in, err := c.compile(n.Input, below)
	if err != nil {
		return nil, err
	}
	s := &stage{node: n, kids: []*stage{in}, cols: kept(in.cols, need, n.Out)}
	s.build = func(r *run, kids []operator) operator {
		es := r.evaluators(in.cols)
		return &unwind{
			input: input{kids[0]}, r: r, es: es, list: es.add(n.List), from: in.positions(s.cols), at: s.pos(n.Out),
		}
	}
	return s, nil
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
			s := allRows(b.N)
			u.es.begin(s)
			if u.vs, err = u.list.eval(ctx, b, s); err != nil {
				return nil, err
			}
			u.b, u.row, u.elem = b, 0, 0
		}
		if u.fill(); len(u.rows) > 0 {
			u.out.appendRows(u.b, u.from, u.rows)
			u.out.N = len(u.rows)
			if u.row == u.b.N {
				u.b = nil // its columns have been copied
			}
			return &u.out, nil
		}
		u.b = nil
	}
}

// fill takes the next elements.
func (u *unwind) fill() {
	u.rows = u.rows[:0]
	size := u.r.batchSize()
	var dst *graph.Column
	if u.at >= 0 {
		dst = &u.out.Cols[u.at]
	}
	for ; u.row < u.b.N; u.row, u.elem = u.row+1, 0 {
		v := u.vs[u.row]
		list := []graph.Value{v}
		switch v.Kind() {
		case graph.Null:
			continue
		case graph.List:
			list = v.List()
		}
		for u.elem < len(list) {
			if len(u.rows) == size {
				return
			}
			u.rows = append(u.rows, int32(u.row))
			if dst != nil {
				dst.Vals = append(dst.Vals, list[u.elem])
			}
			u.elem++
		}
	}
}
