package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// weigh adds the weight of a vertex to each row, and drops the rows whose weight is 0.
type weigh struct {
	input
	weigher *weigher
	from    []int // input position of each column; -1 for the weight
	at      int   // of the weight among the columns, or -1
	product []int64
	rows    sel
	out     batch
}

func (c *compiler) weigh(n *plan.Weigh, need plan.ColSet) *stage {
	below := plan.ColSet{}
	for col := range need {
		below.Add(col)
	}
	delete(below, n.Out)
	below.Add(n.Col)
	in := c.compile(n.Input, below)
	c.bound(in, n.Col)
	s := &stage{node: n, kids: []*stage{in}, cols: kept(in.cols, need, n.Out)}
	s.build = func(r *run, kids []operator) operator {
		return &weigh{
			input: input{kids[0]}, weigher: r.newWeigher(in.pos(n.Col), n.Branches), from: in.positions(s.cols), at: s.pos(n.Out),
		}
	}
	return s
}

func (x *weigh) close() {
	x.weigher.release()
	x.input.close()
}

func (x *weigh) next(ctx context.Context) (*batch, error) {
	for {
		b, err := x.in.next(ctx)
		if b == nil || err != nil {
			return nil, err
		}
		x.product = x.product[:0]
		for range b.N {
			x.product = append(x.product, 1)
		}
		if err := x.weigher.multiplyRows(ctx, b, x.product); err != nil {
			return nil, err
		}
		x.rows = x.rows[:0]
		for i, n := range x.product {
			if n > 0 {
				x.rows = append(x.rows, int32(i))
			}
		}
		if len(x.rows) == 0 {
			continue
		}
		x.out.reset(len(x.from))
		x.out.appendRows(b, x.from, x.rows)
		x.out.N = len(x.rows)
		if x.at >= 0 {
			weights := x.out.Cols[x.at].Vals[:0]
			for _, i := range x.rows {
				weights = append(weights, graph.IntValue(x.product[i]))
			}
			x.out.Cols[x.at].Vals = weights
		}
		return &x.out, nil
	}
}
