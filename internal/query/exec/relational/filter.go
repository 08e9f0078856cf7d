package relational

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// filter keeps the rows for which all conjuncts are true. It joins the rows of several small batches into one. It returns its
// first batch at once, so that a LIMIT above does not wait.
type filter struct {
	runtime.Input
	r      *runtime.Run
	preds  *expr.Predicates
	from   []int               // input position of each column
	handed []runtime.Evaluator // for the columns after these: tested properties
	out    runtime.Batch
	whole  runtime.Batch // a view of an input batch all of whose rows are kept
	target int           // rows to gather
	late   runtime.Late
	part   runtime.Batch // the rows before one that fails
}

// Filter compiles a Filter.
func Filter(c *compile.Compiler, n *plan.Filter, need plan.ColSet) *runtime.Stage {
	preds := make([]plan.Expr, len(n.Preds))
	for i, e := range n.Preds {
		preds[i] = c.ByEdge(e, n.Input)
	}
	below := c.Below(need, preds...)
	in := c.Compile(n.Input, below)
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Cols: compile.Kept(in.Cols, need)}
	from := in.Positions(s.Cols)
	var handed []plan.Expr
	for _, p := range c.EdgeProps {
		if col := c.EdgePropCol(p); need.Has(col) && s.Pos(col) < 0 && slices.ContainsFunc(preds, p.In) {
			s.Cols, handed = append(s.Cols, col), append(handed, &plan.Prop{X: &plan.ColRef{Col: p.Edge}, Key: p.Key})
		}
	}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		f := &filter{Input: runtime.Input{In: kids[0]}, r: r, preds: expr.New(r, in.Cols).Predicates(preds), from: from}
		f.handed = f.preds.Es.AddAll(handed)
		if r.Program.Reusable {
			r.Values = append(r.Values, &f.out)
		}
		return f
	}
	return s
}

func (f *filter) Open(ctx context.Context) error {
	f.target, f.late = 1, runtime.Late{}
	return f.In.Open(ctx)
}

func (f *filter) Next(ctx context.Context) (*runtime.Batch, error) {
	f.out.Reset(len(f.from) + len(f.handed))
	for {
		if f.late.Waits() {
			if f.out.N > 0 {
				return &f.out, nil
			}
			return nil, f.late.Take()
		}
		b, err := f.In.Next(ctx)
		if err != nil {
			if f.out.N > 0 && f.late.Hold(f.r, err) {
				continue
			}
			return nil, err
		}
		if b == nil {
			if f.out.N > 0 {
				return &f.out, nil
			}
			return nil, nil
		}
		kept, err := f.preds.Select(ctx, b, runtime.AllRows(b.N))
		if err != nil {
			if kept, err = f.before(ctx, b, err); err != nil {
				if f.out.N > 0 && f.late.Hold(f.r, err) {
					continue
				}
				return nil, err
			}
			b = &f.part
		}
		if len(kept) == b.N && f.out.N == 0 {
			f.whole.View(b, f.from)
			for _, x := range f.handed {
				vs, err := x.Eval(ctx, b, kept)
				if err != nil {
					return nil, err
				}
				f.whole.Cols = append(f.whole.Cols, graph.Column{Vals: vs[:b.N]})
			}
			return &f.whole, nil
		}
		if len(kept) == 0 {
			continue
		}
		f.out.AppendRows(b, f.from, kept)
		for k, x := range f.handed {
			f.preds.Es.Narrow(kept)
			vs, err := x.Eval(ctx, b, kept)
			if err != nil {
				return nil, err
			}
			runtime.AppendColumn(&f.out.Cols[len(f.from)+k], &graph.Column{Vals: vs}, kept)
		}
		f.out.N += len(kept)
		if f.out.N >= f.target {
			f.target = min(f.target*4, f.r.BatchSize())
			return &f.out, nil
		}
	}
}

// before selects from the rows of b that precede the one that fails, which it takes to part.
func (f *filter) before(ctx context.Context, b *runtime.Batch, err error) (kept runtime.Sel, _ error) {
	_, err = f.late.Before(f.r, b.N, err, func(k int) (err error) {
		f.part.Slice(b, 0, k)
		kept, err = f.preds.Select(ctx, &f.part, runtime.AllRows(k))
		return err
	})
	return kept, err
}
