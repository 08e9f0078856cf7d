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
	r       *run
	product []int64
	b       *batch // of the input
	all     sel    // its rows that stay
	rows    sel    // those of them that are still to be given
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
			input: input{r.hoard(kids[0], len(in.cols))}, r: r, weigher: newCrew(r).newWeigher(r, in.pos(n.Col), n.Branches),
			from: in.positions(s.cols), at: s.pos(n.Out),
		}
	}
	return s
}

func (x *weigh) close() {
	x.weigher.release()
	x.input.close()
}

func (x *weigh) open(ctx context.Context) error {
	x.rows = nil
	x.weigher.open()
	return x.in.open(ctx)
}

func (x *weigh) next(ctx context.Context) (*batch, error) {
	for len(x.rows) == 0 {
		b, err := x.in.next(ctx)
		if b == nil || err != nil {
			return nil, err
		}
		if err := x.weigh(ctx, b); err != nil {
			return nil, err
		}
	}
	rows := x.rows[:min(len(x.rows), x.r.batchSize())]
	x.rows = x.rows[len(rows):]
	x.out.reset(len(x.from))
	x.out.appendRows(x.b, x.from, rows)
	x.out.N = len(rows)
	if x.at >= 0 {
		weights := x.out.Cols[x.at].Vals[:0]
		for _, i := range rows {
			weights = append(weights, graph.IntValue(x.product[i]))
		}
		x.out.Cols[x.at].Vals = weights
	}
	return &x.out, nil
}

// weigh finds the rows of a batch that stay.
func (x *weigh) weigh(ctx context.Context, b *batch) error {
	x.product = x.product[:0]
	for range b.N {
		x.product = append(x.product, 1)
	}
	if err := x.weigher.multiplyRows(ctx, b, x.product); err != nil {
		return err
	}
	x.b, x.all = b, x.all[:0]
	for i, n := range x.product {
		if n > 0 {
			x.all = append(x.all, int32(i))
		}
	}
	x.rows = x.all
	return nil
}
