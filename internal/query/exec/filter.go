package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/query/plan"
)

// filter keeps the rows for which all conjuncts are true. It gathers the rows of several small batches into one; its
// first batch comes at once, so that a LIMIT above is not kept waiting.
type filter struct {
	input
	r      *run
	preds  *predicates
	from   []int // input position of each column
	kept   sel
	out    batch
	whole  batch // a view of an input batch all of whose rows are kept
	target int   // rows to gather
}

func (c *compiler) filter(n *plan.Filter, need plan.ColSet) *stage {
	preds := make([]plan.Expr, len(n.Preds))
	for i, e := range n.Preds {
		preds[i] = c.byEdge(e, n.Input)
	}
	below := c.below(need, preds...)
	in := c.compile(n.Input, below)
	s := &stage{node: n, kids: []*stage{in}, cols: kept(in.cols, need)}
	s.build = func(r *run, kids []operator) operator {
		return &filter{input: input{kids[0]}, r: r, preds: r.evaluators(in.cols).predicates(preds), from: in.positions(s.cols)}
	}
	return s
}

func (f *filter) open(ctx context.Context) error {
	f.target = 1
	return f.in.open(ctx)
}

func (f *filter) next(ctx context.Context) (*batch, error) {
	f.out.reset(len(f.from))
	for {
		b, err := f.in.next(ctx)
		if err != nil {
			return nil, err
		}
		if b == nil {
			if f.out.N > 0 {
				return &f.out, nil
			}
			return nil, nil
		}
		if f.kept, err = f.preds.filter(ctx, b, allRows(b.N), f.kept[:0]); err != nil {
			return nil, err
		}
		if len(f.kept) == b.N && f.out.N == 0 {
			f.whole.view(b, f.from)
			return &f.whole, nil
		}
		f.out.appendRows(b, f.from, f.kept)
		f.out.N += len(f.kept)
		if f.out.N >= f.target {
			f.target = min(f.target*4, f.r.batchSize())
			return &f.out, nil
		}
	}
}
