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

// project computes columns and passes on those that are only renamed.
type project struct {
	runtime.Input
	r     *runtime.Run
	es    *expr.Evaluators
	items []runtime.Evaluator // by column; nil: passed on from the input
	from  []int               // input position of a column that is passed on, else -1
	out   runtime.Batch
	late  runtime.Late
	part  runtime.Batch // the rows before one that fails
}

// Project compiles a Project.
func Project(c *compile.Compiler, n *plan.Project, need plan.ColSet) *runtime.Stage {
	var items []plan.Item
	var exprs []plan.Expr
	passed := plan.NewColSet()
	own := plan.NewColSet()
	for _, it := range n.Items {
		own.Add(it.Col)
		if need.Has(it.Col) {
			items = append(items, it)
			exprs = append(exprs, c.ByEdge(it.Expr, n.Input))
		}
	}
	if n.Keep {
		for col := range need.All() {
			if !own.Has(col) {
				passed.Add(col)
			}
		}
	}
	for _, p := range c.EdgeProps {
		if col := c.EdgePropCol(p); need.Has(col) && compile.Passes(n, p.Edge) {
			passed.Add(col)
		}
	}
	below := c.Below(passed, exprs...)
	in := c.Compile(n.Input, below)
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Cols: compile.Kept(in.Cols, passed)}
	first := len(s.Cols)
	for _, it := range items {
		s.Cols = append(s.Cols, it.Col)
	}
	from := in.Positions(s.Cols[:first])
	for _, e := range exprs {
		at := -1
		if ref, ok := e.(*plan.ColRef); ok {
			at = in.Pos(ref.Col)
		}
		from = append(from, at)
	}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		p := &project{Input: runtime.Input{In: kids[0]}, r: r, es: expr.New(r, in.Cols), from: from}
		if slices.Contains(from, -1) {
			p.items = make([]runtime.Evaluator, len(s.Cols))
		}
		for k, e := range exprs {
			if from[first+k] < 0 {
				p.items[first+k] = p.es.Add(e)
			}
		}
		return p
	}
	return s
}

// Open implements runtime.Operator.
func (p *project) Open(ctx context.Context) error {
	p.late = runtime.Late{}
	return p.In.Open(ctx)
}

func (p *project) Next(ctx context.Context) (*runtime.Batch, error) {
	if p.late.Waits() {
		return nil, p.late.Take()
	}
	b, err := p.In.Next(ctx)
	if b == nil || err != nil {
		return nil, err
	}
	if err := p.compute(ctx, b); err != nil {
		_, err = p.late.Before(p.r, b.N, err, func(k int) error {
			p.part.Slice(b, 0, k)
			return p.compute(ctx, &p.part)
		})
		if err != nil {
			return nil, err
		}
	}
	return &p.out, nil
}

// compute fills out from the rows of b.
func (p *project) compute(ctx context.Context, b *runtime.Batch) error {
	s := runtime.AllRows(b.N)
	p.es.Begin(s)
	p.out.N, p.out.Row = b.N, b.Row
	p.out.Cols = p.out.Cols[:0]
	for k, at := range p.from {
		if at >= 0 {
			p.out.Cols = append(p.out.Cols, b.Cols[at])
			continue
		}
		vs, err := p.items[k].Eval(ctx, b, s)
		if err != nil {
			return err
		}
		p.out.Cols = append(p.out.Cols, graph.Column{Vals: vs[:b.N]})
	}
	return nil
}
