package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// aggregate gives one row for each distinct combination of keys, or, without keys, one row; in a subplan, for each row
// of the frame by itself.
type aggregate struct {
	input
	r      *run
	frame  *frame
	es     *evaluators
	keys   []evaluator
	aggs   []*aggColumn
	outKey []int // the keys that the output has
	table  *groupTable
	cols   [][]graph.Value
	group  []int32
	filled bool
	at     int
	out    batch
}

func (c *compiler) aggregate(n *plan.Aggregate, need plan.ColSet) (*stage, error) {
	var exprs []plan.Expr
	for _, k := range n.Keys {
		exprs = append(exprs, c.byEdge(k.Expr, n.Input))
	}
	keys := exprs
	var aggs []plan.Agg
	for _, a := range n.Aggs {
		if need.Has(a.Col) {
			args := make([]plan.Expr, len(a.Args))
			for i, e := range a.Args {
				args[i] = c.byEdge(e, n.Input)
			}
			a.Args = args
			aggs = append(aggs, a)
			exprs = append(exprs, a.Args...)
		}
	}
	below, err := c.below(nil, exprs...)
	if err != nil {
		return nil, err
	}
	in, err := c.compile(n.Input, below)
	if err != nil {
		return nil, err
	}
	s := &stage{node: n, kids: []*stage{in}}
	var outKey []int
	for k, key := range n.Keys {
		if need.Has(key.Col) {
			outKey = append(outKey, k)
			s.cols = append(s.cols, key.Col)
		}
	}
	for _, a := range aggs {
		s.cols = append(s.cols, a.Col)
		if err := checkAggregate(a); err != nil {
			return nil, err
		}
	}
	s.build = func(r *run, kids []operator) operator {
		a := &aggregate{
			input: input{kids[0]}, r: r, frame: r.frame, es: r.evaluators(in.cols), outKey: outKey,
			table: newGroupTable(r, "Aggregate", len(n.Keys)), cols: make([][]graph.Value, len(n.Keys)),
		}
		a.keys = a.es.addAll(keys)
		for _, g := range aggs {
			x := newAggColumn(r, g, a.es.addAll(g.Args))
			x.alone = len(n.Keys) == 0 && r.frame == nil
			a.aggs = append(a.aggs, x)
		}
		return a
	}
	return s, nil
}

func (a *aggregate) open(ctx context.Context) error {
	a.filled, a.at = false, 0
	a.table.reset()
	for _, g := range a.aggs {
		g.reset()
	}
	return a.in.open(ctx)
}

// groups is the number of groups. Without keys, there is one for each row of the frame, whether it has rows or not.
func (a *aggregate) groups() int {
	if len(a.keys) == 0 {
		return a.frame.rows()
	}
	return a.table.len()
}

func (a *aggregate) next(ctx context.Context) (*batch, error) {
	if !a.filled {
		if err := a.fill(ctx); err != nil {
			return nil, err
		}
		a.filled = true
	}
	n := min(a.groups()-a.at, a.r.batchSize())
	if n == 0 {
		return nil, nil
	}
	a.out.reset(len(a.outKey) + len(a.aggs))
	a.out.N = n
	for k, key := range a.outKey {
		c := &a.out.Cols[k]
		c.Vals = append(c.Vals, a.table.keys[key][a.at:a.at+n]...)
	}
	for k, g := range a.aggs {
		c := &a.out.Cols[len(a.outKey)+k]
		for i := range n {
			v, err := g.result(a.at + i)
			if err != nil {
				return nil, err
			}
			c.Vals = append(c.Vals, v)
		}
	}
	if a.frame != nil {
		for i := a.at; i < a.at+n; i++ {
			row := int32(i)
			if len(a.keys) > 0 {
				row = a.table.row[i]
			}
			a.out.row = append(a.out.row, row)
		}
	}
	a.at += n
	return &a.out, nil
}

func (a *aggregate) fill(ctx context.Context) error {
	if len(a.keys) == 0 {
		for _, g := range a.aggs {
			g.grow(a.groups())
		}
	}
	for {
		b, err := a.in.next(ctx)
		if b == nil || err != nil {
			return err
		}
		s := allRows(b.N)
		a.es.begin(s)
		if err := a.number(ctx, b, s); err != nil {
			return err
		}
		for _, g := range a.aggs {
			g.grow(a.groups())
			if err := g.add(ctx, b, s, a.group); err != nil {
				return err
			}
		}
	}
}

// number sets a.group for the rows of a batch.
func (a *aggregate) number(ctx context.Context, b *batch, s sel) error {
	if len(a.group) < b.N {
		a.group = make([]int32, max(b.N, a.r.batchSize()))
	}
	if len(a.keys) == 0 {
		if b.row != nil {
			copy(a.group, b.row)
		}
		return nil
	}
	for k, x := range a.keys {
		var err error
		if a.cols[k], err = x.eval(ctx, b, s); err != nil {
			return err
		}
	}
	return a.table.numbers(b, a.cols, s, a.group)
}

func (a *aggregate) close() {
	a.table.acct.release()
	for _, g := range a.aggs {
		g.acct.release()
	}
	a.in.close()
}
