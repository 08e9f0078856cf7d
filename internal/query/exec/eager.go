package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/query/plan"
)

// eager takes in all rows before it gives the first.
type eager struct {
	input
	r      *run
	from   []int
	spool  spool
	filled bool
}

func (c *compiler) eager(n *plan.Eager, need plan.ColSet) *stage {
	in := c.compile(n.Input, need)
	s := &stage{node: n, kids: []*stage{in}, cols: kept(in.cols, need)}
	s.build = func(r *run, kids []operator) operator {
		return &eager{input: input{kids[0]}, r: r, from: in.positions(s.cols), spool: spool{acct: account{r: r, name: "Eager"}}}
	}
	return s
}

func (e *eager) open(ctx context.Context) error {
	e.filled = false
	e.spool.reset(len(e.from))
	return e.in.open(ctx)
}

func (e *eager) next(ctx context.Context) (*batch, error) {
	for !e.filled {
		b, err := e.in.next(ctx)
		if err != nil {
			return nil, err
		}
		if b == nil {
			e.filled = true
			break
		}
		if err := e.spool.add(b, e.from); err != nil {
			return nil, err
		}
	}
	return e.spool.next(e.r.batchSize()), nil
}

func (e *eager) close() {
	e.spool.acct.release()
	e.in.close()
}

// drain runs its input to the end and gives no row.
type drain struct{ input }

func (c *compiler) drain(n *plan.Drain) *stage {
	in := c.compile(n.Input, plan.ColSet{})
	return &stage{node: n, kids: []*stage{in}, build: func(_ *run, kids []operator) operator {
		return &drain{input{kids[0]}}
	}}
}

func (d *drain) next(ctx context.Context) (*batch, error) {
	for {
		b, err := d.in.next(ctx)
		if b == nil || err != nil {
			return nil, err
		}
	}
}
