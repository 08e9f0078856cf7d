package cypher

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// column is one column of a WITH or RETURN.
type column struct {
	name string
	expr plan.Expr
	col  plan.Col
	agg  bool    // expr holds aggregates
	fx   effects // of expr, except for the arguments of aggregates
}

// passes reports whether the column is one of the input.
func (c *column) passes() bool {
	r, ok := c.expr.(*plan.ColRef)
	return ok && r.Col == c.col
}

func (b *binder) returns(f *flow, r *ast.Return) result {
	var out result
	b.effects(func() {
		for _, c := range b.project(f, r.Projection, nil, true) {
			out.cols, out.names = append(out.cols, c.col), append(out.names, c.name)
		}
	})
	out.returns = true
	return out
}

// with binds WITH; rest is the clauses after it.
func (b *binder) with(f *flow, w *ast.With, rest []ast.Clause) {
	b.project(f, w.Projection, w.Where, false)
	keepOuter(b, f, rest)
}

// keepOuter keeps the outer variables of a subplan visible after a WITH that does not pass them on. If a later clause
// uses one, the rows so far are computed by a subplan of their own for the outer row.
func keepOuter[N ast.Node](b *binder, f *flow, rest []N) {
	if len(b.frames) == 0 {
		return
	}
	fr := b.frames[len(b.frames)-1]
	if !fr.lasting {
		return
	}
	if len(rest) == 0 {
		return
	}
	hidden := fr.outer.without(b.scope)
	b.opts.Steps.Add(1 + fr.outer.vars.Len()/4)
	if !slices.ContainsFunc(hidden, func(v *binding) bool { return named(b, fr, v.name, rest) }) {
		return
	}
	cols := make([]plan.Col, 0, b.scope.vars.Len())
	for _, v := range b.scope.all() {
		if !fr.around(v.col) {
			cols = append(cols, v.col)
		}
	}
	f.node = &plan.Apply{Input: b.start(), Sub: f.node, Kind: plan.Inner, Cols: cols}
	b.scope = b.scope.with(hidden...)
}

// named reports whether one of the clauses up to the end of a query names a variable.
func named[N ast.Node](b *binder, fr *frame, name string, rest []N) bool {
	if end := ast.Node(rest[len(rest)-1]); fr.end != end {
		fr.end, fr.last = end, map[string]int{}
		for i, c := range rest {
			ast.Inspect(c, func(n ast.Node) bool {
				b.opts.Steps.Add(1)
				if v, ok := n.(*ast.Variable); ok {
					fr.last[v.Name] = len(rest) - i
				}
				return true
			})
		}
	}
	last, ok := fr.last[name]
	return ok && last <= len(rest)
}

// project binds the body of a WITH or RETURN and puts it on top of f. Afterwards its columns are the scope.
func (b *binder) project(f *flow, p *ast.Projection, where ast.Expr, last bool) []*column {
	b.opts.Steps.Add(1 + len(p.Items))
	before := b.scope
	aggs := &aggregation{b: b, fx: b.fx, like: map[uint64][]int{}, cols: map[plan.Col]bool{}}
	// WITH * leaves all variables as they are, unless it makes groups.
	keep := p.Star && !last && !p.Distinct && !slices.ContainsFunc(p.Items, func(i *ast.ProjectionItem) bool { return hasAggregate(i.Expr) })
	cols := b.columns(p, aggs, keep)
	if !keep && !last && !p.Distinct && !slices.ContainsFunc(cols, func(c *column) bool { return c.agg }) {
		for _, v := range before.all() {
			if v.hidden() {
				cols = append(cols, &column{name: v.name, expr: b.ref(v.col), col: v.col})
			}
		}
	}
	own := make([]*binding, len(cols)) // their names differ
	for i, c := range cols {
		own[i] = &binding{name: c.name, col: c.col}
	}
	var after scope
	if keep {
		after = before
	}
	after = after.with(own...)
	grouped := slices.ContainsFunc(cols, func(c *column) bool { return c.agg })

	// ORDER BY and WHERE see the new columns before the old ones.
	b.scope = before.with(own...)
	if grouped {
		b.aggs = aggs
	}
	by := computedBy(cols)
	keys := make([]plan.SortKey, 0, len(p.OrderBy))
	for _, s := range p.OrderBy {
		keys = append(keys, plan.SortKey{Expr: by.replace(b.expr(s.Expr)), Desc: s.Desc})
	}
	b.aggs = nil
	var preds []plan.Expr
	late := &effects{} // of expressions computed after ordering or grouping
	if where != nil {
		late = b.effects(func() { preds = conjuncts(b.expr(where)) })
		if grouped || p.Distinct {
			for i := range preds {
				preds[i] = by.replace(preds[i])
			}
		}
	}
	b.scope = scope{}
	skip, limit := b.count(p.Skip), b.count(p.Limit)
	b.scope = after
	if last && len(b.frames) == 0 && slices.ContainsFunc(cols, func(c *column) bool { return b.mayHoldEntity(c.expr) }) {
		b.fx.readEntities()
	}
	b.admit(f)

	// The columns that the order needs are computed first, the others only for the remaining rows.
	early, ordering := reading(keys, preds), reading(keys, nil)
	for _, c := range cols {
		if c.agg || !grouped && !p.Distinct && !ordering.Has(c.col) {
			late.add(&c.fx)
		}
	}
	if grouped {
		aggs.build(f, cols)
	}
	defer func() { f.done.add(late) }()
	if p.Distinct {
		f.node = &plan.Distinct{Input: items(f.node, cols), Cols: distinctCols(cols)}
		f.order(keys, skip, limit)
		f.filter(preds)
		return cols
	}
	var first []plan.Item
	for _, c := range cols {
		if early.Has(c.col) && !c.passes() {
			first = append(first, plan.Item{Col: c.col, Expr: c.expr})
			c.expr = &plan.ColRef{Col: c.col}
		}
	}
	if len(first) > 0 {
		f.node = &plan.Project{Input: f.node, Items: first, Keep: true}
	}
	f.order(keys, skip, limit)
	f.filter(preds)
	if keep {
		cols = slices.DeleteFunc(cols, (*column).passes)
	}
	if n := items(f.node, cols); !keep || len(cols) > 0 {
		n.Keep = keep
		f.node = n
	}
	return cols
}

// columns binds the items of a projection and assigns a column to each.
// If it keeps the variables in scope, they are not among them.
func (b *binder) columns(p *ast.Projection, aggs *aggregation, keep bool) []*column {
	var cols []*column
	if p.Star && !keep {
		b.opts.Steps.Add(b.scope.vars.Len())
		own := p.Names()
		for _, v := range b.scope.sorted() {
			if own[v.name] {
				continue
			}
			cols = append(cols, &column{name: v.name, expr: b.bound(v, &ast.Variable{At: p.At, Name: v.name})})
		}
	}
	for _, i := range p.Items {
		c := &column{name: i.Name(), agg: hasAggregate(i.Expr)}
		if c.agg {
			b.aggs = aggs
		}
		c.fx = *b.effects(func() { c.expr = b.expr(i.Expr) })
		b.aggs = nil
		cols = append(cols, c)
	}
	taken := map[plan.Col]bool{}
	for _, c := range cols {
		if r, ok := c.expr.(*plan.ColRef); ok && !keep && !taken[r.Col] {
			c.col = r.Col
		} else {
			c.col = b.newCol(c.name, b.kindOf(c.expr))
			b.scalar[c.col] = !b.mayHoldEntity(c.expr)
		}
		taken[c.col] = true
		if aggs.is(c.col) {
			b.q.Cols[c.col].Name = c.name
		}
	}
	return cols
}

// count binds SKIP or LIMIT.
func (b *binder) count(e ast.Expr) plan.Expr {
	if e == nil {
		return nil
	}
	return b.expr(e)
}

// items projects to the columns.
func items(in plan.Node, cols []*column) *plan.Project {
	n := &plan.Project{Input: in}
	for _, c := range cols {
		n.Items = append(n.Items, plan.Item{Col: c.col, Expr: c.expr})
	}
	return n
}

func distinctCols(cols []*column) []plan.Col {
	out := make([]plan.Col, 0, len(cols))
	for _, c := range cols {
		out = append(out, c.col)
	}
	return out
}

func reading(keys []plan.SortKey, preds []plan.Expr) plan.ColSet {
	es := slices.Clone(preds)
	for _, k := range keys {
		es = append(es, k.Expr)
	}
	return plan.Reads(es...)
}

// order puts ORDER BY, SKIP and LIMIT on top.
func (f *flow) order(keys []plan.SortKey, skip, limit plan.Expr) {
	if len(keys) > 0 {
		f.node = &plan.Sort{Input: f.node, Keys: keys}
		f.finish()
	}
	if skip == nil && limit == nil {
		return
	}
	f.node = &plan.Slice{Input: f.node, Skip: skip, Limit: limit}
	if c, ok := limit.(*plan.Const); ok && c.Value.Kind() == graph.Int && c.Value.Int() <= 1 && !f.done.writes() {
		f.one = true
	}
}

func (f *flow) filter(preds []plan.Expr) {
	if len(preds) == 0 {
		return
	}
	if below, ok := f.node.(*plan.Filter); ok {
		below.Preds = append(below.Preds, preds...)
	} else {
		f.node = &plan.Filter{Input: f.node, Preds: preds}
	}
}
