package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/query/plan"
)

// union gives the rows of its inputs, one after the other.
type union struct {
	ins  []operator
	from [][]int // by input: the position of each column
	at   int
	out  batch
}

func (c *compiler) union(n *plan.Union, need plan.ColSet) *stage {
	s := &stage{node: n}
	var out []int // of n.Out
	for j, col := range n.Out {
		if need.Has(col) || !n.All {
			s.cols = append(s.cols, col)
			out = append(out, j)
		}
	}
	from := make([][]int, len(n.Inputs))
	for i, node := range n.Inputs {
		var cols []plan.Col
		for _, j := range out {
			cols = append(cols, n.Cols[i][j])
		}
		below := plan.ColSet{}
		below.Add(cols...)
		in := c.compile(node, below)
		c.bound(in, cols...)
		s.kids = append(s.kids, in)
		from[i] = in.positions(cols)
	}
	all := func(_ *run, kids []operator) operator { return &union{ins: kids, from: from} }
	s.build = all
	if !n.All {
		s.build = func(r *run, kids []operator) operator {
			return newDistinct(r, all(r, kids), allPositions(len(s.cols)), allPositions(len(s.cols)))
		}
	}
	return s
}

func (u *union) open(ctx context.Context) error {
	u.at = 0
	for _, in := range u.ins {
		if err := in.open(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (u *union) next(ctx context.Context) (*batch, error) {
	for ; u.at < len(u.ins); u.at++ {
		b, err := u.ins[u.at].next(ctx)
		if err != nil {
			return nil, err
		}
		if b != nil {
			u.out.view(b, u.from[u.at])
			return &u.out, nil
		}
	}
	return nil, nil
}

func (u *union) close() {
	for _, in := range u.ins {
		in.close()
	}
}
