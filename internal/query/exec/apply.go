package exec

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

func (c *compiler) apply(n *plan.Apply, need plan.ColSet) *stage {
	below := plan.ColSet{}
	for col := range need {
		below.Add(col)
	}
	inner := plan.ColSet{}
	var x plan.Expr // what is collected
	switch n.Kind {
	case plan.Inner, plan.Optional:
		for _, col := range n.Cols {
			if need.Has(col) {
				inner.Add(col)
				delete(below, col)
			}
		}
	case plan.Collect:
		x = c.byEdge(n.Expr, n.Sub)
		inner = c.below(nil, x)
	}
	sub := c.sub(n.Sub, inner)
	sub.expr = x
	below.Add(sub.args...)
	in := c.compile(n.Input, below)
	c.bound(in, sub.args...)
	s := &stage{node: n, kids: []*stage{in}, subs: []*subplan{sub}, cols: kept(in.cols, need)}
	switch n.Kind {
	case plan.Inner, plan.Optional:
		outer := len(s.cols)
		for _, col := range n.Cols {
			if need.Has(col) {
				s.cols = append(s.cols, col)
			}
		}
		s.build = func(r *run, kids []operator) operator {
			a := &applyRows{
				input: input{kids[0]}, outer: outer, outerFrom: append(in.positions(s.cols[:outer]), slices.Repeat(nowhere, len(s.cols)-outer)...),
				innerFrom: append(slices.Repeat(nowhere, outer), sub.root.positions(s.cols[outer:])...), optional: n.Kind == plan.Optional,
				inOrder: sub.root.inOrder(), alone: sub.writes && !n.Together,
			}
			a.frame, a.sub = r.buildSub(sub, in.cols)
			return a
		}
	default:
		s.cols = kept(in.cols, need, n.Out)
		s.build = func(r *run, kids []operator) operator {
			return &applyValue{
				input: input{kids[0]}, g: r.gather(sub, n.Kind, in.cols), from: in.positions(s.cols),
			}
		}
	}
	return s
}

// nowhere is the position of a column that the input has not.
var nowhere = []int{-1}

// applyValue adds a value of the subplan to each outer row.
type applyValue struct {
	input
	g    *gather
	from []int // input position of each column; -1 for the value
	out  batch
}

func (a *applyValue) next(ctx context.Context) (*batch, error) {
	b, err := a.in.next(ctx)
	if b == nil || err != nil {
		return nil, err
	}
	vs, err := a.g.run(ctx, b)
	if err != nil {
		return nil, err
	}
	a.out.N, a.out.row = b.N, b.row
	a.out.Cols = a.out.Cols[:0]
	for _, p := range a.from {
		c := graph.Column{Vals: vs[:b.N]}
		if p >= 0 {
			c = b.Cols[p]
		}
		a.out.Cols = append(a.out.Cols, c)
	}
	return &a.out, nil
}

func (a *applyValue) close() {
	a.g.close()
	a.in.close()
}

// applyRows joins outer rows with the rows of their subplan.
type applyRows struct {
	input
	frame                *frame
	sub                  operator
	outer                int // the number of columns of the outer rows
	outerFrom, innerFrom []int
	optional             bool
	alone                bool // the outer rows come one at a time
	inOrder              bool // the subplan gives its rows in the order of the outer ones: those without any stand among them

	b       *batch // the outer batch
	one     batch  // one row of it, for alone
	at      int    // the row of b that one is of, or the first of part
	part    *batch // what the frame holds: b or one; nil: the next part is due
	matched []bool // rows of part that have had rows, or have been given without
	settled int32  // with inOrder: such are all rows before this one
	rows    sel
	inner   sel // beside rows: rows of the subplan's batch, or -1
	out     batch
}

// inOrder reports whether an operator of a subplan gives all rows of an outer row before those of later ones.
func (s *stage) inOrder() bool {
	switch s.node.(type) {
	case *plan.Argument, *plan.Sort:
		return true
	case *plan.Filter, *plan.Project, *plan.HashJoin, *plan.Seek:
		return s.kids[0].inOrder()
	}
	return false
}

func (a *applyRows) open(ctx context.Context) error {
	a.b, a.part = nil, nil
	return a.in.open(ctx)
}

func (a *applyRows) next(ctx context.Context) (*batch, error) {
	for {
		if a.part == nil {
			if more, err := a.advance(ctx); !more || err != nil {
				return nil, err
			}
		}
		b, err := a.sub.next(ctx)
		if err != nil {
			return nil, err
		}
		a.out.reset(len(a.outerFrom))
		if b == nil {
			part := a.part
			a.part = nil
			if a.optional && a.unmatched(part) {
				return &a.out, nil
			}
			continue
		}
		if a.optional && a.inOrder && a.skips(b.row) {
			a.fill(b)
			return &a.out, nil
		}
		a.joinOuter(a.part, b.row)
		inner := *b
		inner.row = nil
		a.out.appendRows(&inner, a.innerFrom, allRows(b.N))
		a.out.N = b.N
		if a.optional {
			for _, row := range b.row {
				a.matched[row] = true
			}
			a.settled = b.row[b.N-1] + 1
		}
		return &a.out, nil
	}
}

// skips reports whether there are rows of part before or among those given that have no rows.
func (a *applyRows) skips(rows sel) bool {
	at := a.settled
	for _, row := range rows {
		if row > at {
			return true
		}
		at = row + 1
	}
	return false
}

// fill joins a batch of the subplan with its outer rows, and gives those that it skips where they stand, with nulls.
func (a *applyRows) fill(b *batch) {
	a.rows, a.inner = a.rows[:0], a.inner[:0]
	for i, row := range b.row {
		for ; a.settled < row; a.settled++ {
			a.rows, a.inner = append(a.rows, a.settled), append(a.inner, -1)
			a.matched[a.settled] = true
		}
		a.rows, a.inner = append(a.rows, row), append(a.inner, int32(i))
		a.matched[row], a.settled = true, row+1
	}
	a.joinOuter(a.part, a.rows)
	for k := a.outer; k < len(a.outerFrom); k++ {
		dst, src := &a.out.Cols[k], &b.Cols[a.innerFrom[k]]
		toValues(dst)
		for _, i := range a.inner {
			if i < 0 {
				dst.Vals = append(dst.Vals, graph.Value{})
			} else {
				dst.Vals = append(dst.Vals, src.Value(int(i)))
			}
		}
	}
	a.out.N = len(a.rows)
}

// advance opens the subplan over the next outer rows.
func (a *applyRows) advance(ctx context.Context) (bool, error) {
	if a.b == nil || !a.alone || a.at+1 >= a.b.N {
		b, err := a.in.next(ctx)
		if b == nil || err != nil {
			a.b = nil
			return false, err
		}
		a.b, a.at, a.part = b, 0, b
	} else {
		a.at++
	}
	if a.alone {
		a.one.slice(a.b, a.at, a.at+1)
		a.part = &a.one
	}
	a.frame.in = a.part
	a.matched, a.settled = append(a.matched[:0], make([]bool, a.part.N)...), 0
	return true, a.sub.open(ctx)
}

// joinOuter appends the outer cells of the given rows of part.
func (a *applyRows) joinOuter(part *batch, rows sel) { a.out.appendRows(part, a.outerFrom, rows) }

// unmatched fills out with the rows of part that had no rows, and nulls; it reports whether there are any.
func (a *applyRows) unmatched(part *batch) bool {
	a.rows = a.rows[:0]
	for i, m := range a.matched {
		if !m {
			a.rows = append(a.rows, int32(i))
		}
	}
	if len(a.rows) == 0 {
		return false
	}
	a.joinOuter(part, a.rows)
	for k := a.outer; k < len(a.outerFrom); k++ {
		appendNulls(&a.out.Cols[k], len(a.rows))
	}
	a.out.N = len(a.rows)
	return true
}

func (a *applyRows) close() {
	a.sub.close()
	a.in.close()
}
