package exec

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// project computes columns. Columns that are only renamed are passed on as they are.
type project struct {
	input
	es    *evaluators
	items []evaluator // by column; nil: passed on from the input
	from  []int       // input position of a column that is passed on, else -1
	out   batch
}

func (c *compiler) project(n *plan.Project, need plan.ColSet) *stage {
	var items []plan.Item
	var exprs []plan.Expr
	passed := plan.ColSet{}
	own := plan.ColSet{}
	for _, it := range n.Items {
		own.Add(it.Col)
		if need.Has(it.Col) {
			items = append(items, it)
			exprs = append(exprs, c.byEdge(it.Expr, n.Input))
		}
	}
	if n.Keep {
		for col := range need {
			if !own.Has(col) {
				passed.Add(col)
			}
		}
	}
	for _, p := range c.edgeProps {
		if col := c.edgePropCol(p); need.Has(col) && passes(n, p.edge) {
			passed.Add(col)
		}
	}
	below := c.below(passed, exprs...)
	in := c.compile(n.Input, below)
	s := &stage{node: n, kids: []*stage{in}, cols: kept(in.cols, passed)}
	first := len(s.cols)
	for _, it := range items {
		s.cols = append(s.cols, it.Col)
	}
	from := in.positions(s.cols[:first])
	for _, e := range exprs {
		at := -1
		if ref, ok := e.(*plan.ColRef); ok {
			at = in.pos(ref.Col)
		}
		from = append(from, at)
	}
	s.build = func(r *run, kids []operator) operator {
		p := &project{input: input{kids[0]}, es: r.evaluators(in.cols), from: from}
		if slices.Contains(from, -1) {
			p.items = make([]evaluator, len(s.cols))
		}
		for k, e := range exprs {
			if from[first+k] < 0 {
				p.items[first+k] = p.es.add(e)
			}
		}
		return p
	}
	return s
}

// prefetch implements feeder.
func (p *project) prefetch(at int, h prefetcher, limit int) { prefetch(p.in, p.from[at], h, limit) }

func (p *project) next(ctx context.Context) (*batch, error) {
	b, err := p.in.next(ctx)
	if b == nil || err != nil {
		return nil, err
	}
	s := allRows(b.N)
	p.es.begin(s)
	p.out.N, p.out.row = b.N, b.row
	p.out.Cols = p.out.Cols[:0]
	for k, at := range p.from {
		if at >= 0 {
			p.out.Cols = append(p.out.Cols, b.Cols[at])
			continue
		}
		vs, err := p.items[k].eval(ctx, b, s)
		if err != nil {
			return nil, err
		}
		p.out.Cols = append(p.out.Cols, graph.Column{Vals: vs[:b.N]})
	}
	return &p.out, nil
}
