package exec

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// filter keeps the rows for which all conjuncts are true. It gathers the rows of several small batches into one; its
// first batch comes at once, so that a LIMIT above is not kept waiting.
type filter struct {
	input
	r      *run
	preds  *predicates
	from   []int       // input position of each column
	handed []evaluator // of the columns after these: properties that were tested
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
	from := in.positions(s.cols)
	var handed []plan.Expr
	for _, p := range c.edgeProps {
		if col := c.edgePropCol(p); need.Has(col) && s.pos(col) < 0 && slices.ContainsFunc(preds, p.in) {
			s.cols, handed = append(s.cols, col), append(handed, &plan.Prop{X: &plan.ColRef{Col: p.edge}, Key: p.key})
		}
	}
	s.build = func(r *run, kids []operator) operator {
		f := &filter{input: input{kids[0]}, r: r, preds: r.evaluators(in.cols).predicates(preds), from: from}
		f.handed = f.preds.es.addAll(handed)
		if r.p.reusable {
			r.values = append(r.values, &f.out)
		}
		return f
	}
	return s
}

func (f *filter) open(ctx context.Context) error {
	f.target = 1
	return f.in.open(ctx)
}

func (f *filter) next(ctx context.Context) (*batch, error) {
	f.out.reset(len(f.from) + len(f.handed))
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
			for _, x := range f.handed {
				vs, err := x.eval(ctx, b, f.kept)
				if err != nil {
					return nil, err
				}
				f.whole.Cols = append(f.whole.Cols, graph.Column{Vals: vs[:b.N]})
			}
			return &f.whole, nil
		}
		if len(f.kept) == 0 {
			continue
		}
		f.out.appendRows(b, f.from, f.kept)
		for k, x := range f.handed {
			f.preds.es.sel = f.kept
			vs, err := x.eval(ctx, b, f.kept)
			if err != nil {
				return nil, err
			}
			appendColumn(&f.out.Cols[len(f.from)+k], &graph.Column{Vals: vs}, f.kept)
		}
		f.out.N += len(f.kept)
		if f.out.N >= f.target {
			f.target = min(f.target*4, f.r.batchSize())
			return &f.out, nil
		}
	}
}
