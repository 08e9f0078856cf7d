package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/query/plan"
)

// argument gives the rows of the frame; at the top level, one row without columns.
type argument struct {
	frame *frame
	from  []int // positions in frame.sub.args
	out   batch
	one   bool // the row has been given
}

func (c *compiler) argument(n plan.Node, cols []plan.Col, need plan.ColSet) *stage {
	s := &stage{node: n}
	for _, col := range cols {
		if need.Has(col) {
			s.cols = append(s.cols, col)
		}
	}
	c.args.Add(s.cols...)
	s.build = func(r *run, _ []operator) operator {
		a := &argument{frame: r.frame}
		if r.frame != nil {
			a.from = (&stage{cols: r.frame.sub.args}).positions(s.cols)
		}
		return a
	}
	return s
}

func (a *argument) open(context.Context) error {
	a.one = false
	return nil
}

func (a *argument) next(context.Context) (*batch, error) {
	if a.one || a.frame.rows() == 0 {
		return nil, nil
	}
	a.one = true
	if a.frame == nil {
		a.out.N = 1
		return &a.out, nil
	}
	a.out.N = a.frame.in.N
	a.out.row = allRows(a.out.N)
	a.out.Cols = a.out.Cols[:0]
	for _, p := range a.from {
		a.out.Cols = append(a.out.Cols, a.frame.in.Cols[a.frame.from[p]])
	}
	return &a.out, nil
}

func (a *argument) close() {}
