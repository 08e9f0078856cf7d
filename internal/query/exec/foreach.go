package exec

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// foreach runs a subplan of writes for each element of a list and passes its rows on.
type foreach struct {
	input
	r        *run
	es       *evaluators
	list     evaluator
	frame    *frame
	sub      operator
	together bool  // the subplan runs for many elements at once
	captured []int // positions of the outer columns that the subplan reads
	inner    batch // these columns, then the variable
	rows     sel
	from     []int
	out      batch
}

func (c *compiler) foreach(n *plan.Foreach, need plan.ColSet) *stage {
	sub := c.sub(n.Sub, plan.ColSet{})
	below := c.below(need, n.List)
	var outer []plan.Col
	for _, col := range sub.args {
		if col != n.Var {
			outer = append(outer, col)
		}
	}
	below.Add(outer...)
	delete(below, n.Var)
	in := c.compile(n.Input, below)
	c.bound(in, outer...)
	s := &stage{node: n, kids: []*stage{in}, subs: []*subplan{sub}, cols: kept(in.cols, need)}
	s.build = func(r *run, kids []operator) operator {
		f := &foreach{
			input: input{kids[0]}, r: r, es: r.evaluators(in.cols), captured: in.positions(outer), from: in.positions(s.cols),
			together: n.Together,
		}
		f.list = f.es.add(n.List)
		f.frame, f.sub = r.buildSub(sub, append(slices.Clone(outer), n.Var))
		return f
	}
	return s
}

func (f *foreach) next(ctx context.Context) (*batch, error) {
	b, err := f.in.next(ctx)
	if b == nil || err != nil {
		return nil, err
	}
	s := allRows(b.N)
	f.es.begin(s)
	lists, err := f.list.eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	size := 1
	if f.together {
		size = f.r.batchSize()
	}
	f.empty()
	for _, i := range s {
		v := lists[i]
		if v.IsNull() {
			continue
		}
		if v.Kind() != graph.List {
			return nil, notList(v)
		}
		for _, e := range v.List() {
			f.rows = append(f.rows, i)
			c := &f.inner.Cols[len(f.captured)]
			c.Vals = append(c.Vals, e)
			if len(f.rows) == size {
				if err := f.flush(ctx, b); err != nil {
					return nil, err
				}
			}
		}
	}
	if err := f.flush(ctx, b); err != nil {
		return nil, err
	}
	f.out.view(b, f.from)
	return &f.out, nil
}

func (f *foreach) empty() {
	f.inner.reset(len(f.captured) + 1)
	f.rows = f.rows[:0]
}

// flush runs the subplan for the elements gathered.
func (f *foreach) flush(ctx context.Context, b *batch) error {
	if len(f.rows) == 0 {
		return nil
	}
	for k, p := range f.captured {
		appendColumn(&f.inner.Cols[k], &b.Cols[p], f.rows)
	}
	f.inner.N = len(f.rows)
	f.frame.in = &f.inner
	if err := f.sub.open(ctx); err != nil {
		return err
	}
	for {
		out, err := f.sub.next(ctx)
		if err != nil {
			return err
		}
		if out == nil {
			break
		}
	}
	f.empty()
	return nil
}

func (f *foreach) close() {
	f.sub.close()
	f.in.close()
}
