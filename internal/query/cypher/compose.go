package cypher

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// shared binds a UNION whose parts all read the rows of f, which are collected into one list.
func (b *binder) shared(f *flow, q *ast.Query) result {
	row := &plan.ListLit{}
	vars := b.scope.all()
	for _, v := range vars {
		row.Elems = append(row.Elems, b.ref(v.col))
	}
	rows := b.newCol("", graph.Null)
	f.node = &plan.Aggregate{Input: f.node, Aggs: []plan.Agg{{Col: rows, Func: "collect", Args: []plan.Expr{row}}}}
	f.finish()
	b.scope = scope{}.with(&binding{col: rows})
	keepOuter(b, f, []*ast.Query{q})
	outer := b.scope
	hidden := slices.DeleteFunc(outer.all(), func(v *binding) bool { return v.col == rows })
	var u result
	b.effects(func() {
		b.open(outer, true)
		parts := make([]result, 0, len(q.Parts))
		for _, p := range q.Parts {
			each, start := b.newCol("", graph.Null), b.start()
			in := &flow{node: &plan.Unwind{Input: start, Out: each, List: b.ref(rows)}}
			items := make([]plan.Item, 0, len(vars))
			b.scope = scope{}.with(hidden...)
			for i, v := range vars {
				c := b.newCol(v.name, b.kind(v.col))
				b.scalar[c] = b.scalar[v.col]
				items = append(items, plan.Item{Col: c, Expr: op(plan.Index, p.Pos, &plan.ColRef{Col: each}, &plan.Const{Value: graph.IntValue(int64(i))})})
				b.declare(v.name, c)
			}
			in.node = &plan.Project{Input: in.node, Items: items, Keep: true}
			parts = append(parts, b.single(p, in))
		}
		u = b.union(q, parts)
		b.close()
		b.admit(f)
	})
	return b.applied(f, u)
}

// conditional binds WHEN: it numbers each row of in by its branch, and each branch is a subplan for the rows with its number.
func (b *binder) conditional(c *ast.Conditional, in *flow) result {
	f := in
	if f == nil {
		f = &flow{node: b.start(), one: true}
	}
	var u result
	b.effects(func() {
		number := b.branchOf(f, c)
		visible := b.scope
		b.open(visible.with(&binding{name: "", col: number}), true)
		q := &ast.Query{At: c.At, All: true}
		parts := make([]result, 0, len(c.Branches))
		for i, br := range c.Branches {
			mine := op(plan.Eq, br.Pos, b.ref(number), &plan.Const{Value: graph.IntValue(int64(i))})
			rows := &flow{node: &plan.Filter{Input: b.start(), Preds: []plan.Expr{mine}}, one: true}
			b.open(visible, true)
			r := b.segments(br.Query, func(*ast.SingleQuery) scope { return visible }, nil)
			if r.returns {
				r = b.distinctColumns(r)
			}
			b.close()
			parts = append(parts, b.applied(rows, r))
			q.Parts = append(q.Parts, br.Query.Parts[0])
		}
		u = b.union(q, parts)
		b.close()
		b.admit(f)
	})
	return b.applied(f, u)
}

// branchOf adds the number of the first branch of c whose condition is true to the rows of f, or null.
func (b *binder) branchOf(f *flow, c *ast.Conditional) plan.Col {
	choice := &plan.Case{}
	for i, br := range c.Branches {
		n := &plan.Const{Value: graph.IntValue(int64(i))}
		if br.When == nil {
			choice.Else = n
			continue
		}
		choice.When, choice.Then = append(choice.When, b.expr(br.When)), append(choice.Then, n)
	}
	col := b.newCol("", graph.Null)
	b.scalar[col] = true
	f.node = &plan.Project{Input: f.node, Items: []plan.Item{{Col: col, Expr: choice}}, Keep: true}
	return col
}

// applied runs a query for each row of f; one that returns nothing keeps the row.
func (b *binder) applied(f *flow, r result) result {
	sub := r.node
	if !r.returns {
		sub = &plan.Aggregate{Input: r.node}
	}
	f.node = &plan.Apply{Input: f.node, Sub: sub, Kind: plan.Inner, Cols: r.cols}
	r.node, r.one, r.done = f.node, f.one && (r.one || !r.returns), f.done
	return r
}
