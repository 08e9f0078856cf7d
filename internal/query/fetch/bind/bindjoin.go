package bind

import (
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// joins binds the tables that are joined to the main one, whose rows are node without its conditions.
//
// A left or right join keeps the rows of one side. The others pair the rows of both sides and then keep the pairs for
// which the conditions of the main table, M, and of the joined one, J, hold as the join says: & M and J, | M or J, ! neither,
// ^ not both, ( M and not J, ) J and not M. A table without conditions has nothing that could hold: & and | then mean the
// other side's conditions, ( and ! find nothing.
func (b *Binder) joins(lv *level, s *Selection, a *syntax.Array, joins []*syntax.Join, node plan.Node, must []plan.Expr, sc *Scope) error {
	main := s.Parts[0]
	whole := true // the main table's conditions are not rewritten
	var preds []plan.Expr
	early := mainFirst(joins)
	if early {
		node = b.where(lv, node, append(main.where, must...))
		must = nil
	}
	for _, j := range rightFirst(joins) {
		t, extra, links, err := b.joinedTable(a, j)
		if err != nil {
			return err
		}
		p := &Part{t: t, join: j, links: links, extra: extra}
		never, err := b.joined(lv, s, p, &node, sc)
		if err != nil {
			return err
		}
		s.Never = s.Never || never
		m, w := conj(main.where), conj(p.where)
		switch j.Kind {
		case "<":
			p.where = nil
			continue
		case ">":
			p.where = nil
			continue
		}
		if early && (j.Kind == "&" || j.Kind == "(") {
			m = nil
		}
		test, nothing := joinTest(j.Kind, m, w)
		s.Never = s.Never || nothing
		if test != nil {
			preds = append(preds, test)
			whole = false
		}
		if w != nil && j.Kind != "&" && j.Kind != ")" { // shown only where its own conditions hold
			p.present = w
		}
	}
	if whole && !early {
		preds = append(preds, main.where...)
	}
	preds = append(preds, must...)
	s.Node = node
	if len(preds) > 0 {
		s.Node = &plan.Filter{Input: node, Preds: preds}
	}
	return nil
}

// mainFirst reports whether the rows of the main table must satisfy its conditions whatever is joined to them, so that they
// are tested first.
func mainFirst(joins []*syntax.Join) bool {
	left := true
	for _, j := range joins {
		switch j.Kind {
		case "&", "(":
			return true
		case "<":
		default:
			left = false
		}
	}
	return left
}

// conj joins predicates; nil for none.
func conj(preds []plan.Expr) plan.Expr {
	if len(preds) == 0 {
		return nil
	}
	return and(preds...)
}

// joinTest returns the condition on a pair of rows; nil if only the main table's conditions apply.
func joinTest(kind string, m, j plan.Expr) (test plan.Expr, never bool) {
	not := func(e plan.Expr) plan.Expr { return Op(plan.Not, e) }
	switch kind {
	case "&":
		if j == nil {
			return nil, false
		}
		if m == nil {
			return j, false
		}
		return and(m, j), false
	case "|":
		if j == nil {
			return nil, false
		}
		if m == nil {
			return j, false
		}
		return or(m, j), false
	case "!":
		if m == nil || j == nil {
			return nil, true
		}
		return not(or(m, j)), false
	case "^":
		switch {
		case m == nil && j == nil:
			return nil, true
		case j == nil:
			return not(m), false
		case m == nil:
			return not(j), false
		}
		return not(and(m, j)), false
	case "(":
		if j == nil {
			return nil, true
		}
		if m == nil {
			return not(j), false
		}
		return and(m, not(j)), false
	}
	if m == nil {
		return nil, true
	}
	if j == nil {
		return not(m), false
	}
	return and(not(m), j), false
}

// joined joins the rows of a part to those of node.
func (b *Binder) joined(lv *level, s *Selection, p *Part, node *plan.Node, sc *Scope) (never bool, err error) {
	j := p.join
	skip := make(map[*syntax.Cond]bool)
	for _, c := range p.links {
		skip[c] = true
	}
	if j.Kind == ">" {
		return b.rightJoin(lv, s, p, skip, node, sc)
	}
	sub := lv.below()
	in, err := b.from(lv, p, sub.arg, nil, sc)
	if err != nil {
		return false, err
	}
	sc.things[p.t.Key] = &thing{table: p.bound}
	s.Parts = append(s.Parts, p)
	on, nothing, err := b.links(lv, s, p, sc)
	if err != nil {
		return false, err
	}
	never = never || nothing
	if p.extra != nil {
		preds, nothing, err := b.extra(lv, p, sc)
		if err != nil {
			return false, err
		}
		never = never || nothing
		on = append(on, preds...)
	}
	nothing, err = b.wheres(lv, p, sc, skip)
	if err != nil {
		return false, err
	}
	kind := plan.Inner
	if j.Kind == "<" {
		kind = plan.Optional
		if nothing {
			p.where = append(p.where, BoolConst(false))
		}
		on = append(on, p.where...)
	} else {
		never = never || nothing
	}
	for _, e := range on { // columns of other tables of the row that the conditions use
		b.hand(sub, e, p)
	}
	apply := &plan.Apply{Input: *node, Sub: b.where(lv, in, on), Kind: kind, Cols: b.colsOf(p)}
	*node = apply
	if j.Kind == "<" {
		p.present = Op(plan.IsNotNull, &plan.ColRef{Col: b.colsOf(p)[0]})
	}
	return never, nil
}

// colsOf returns the columns that a part adds.
func (b *Binder) colsOf(p *Part) []plan.Col {
	if p.Src.Vertex != 0 {
		return []plan.Col{p.Src.Vertex}
	}
	var cols []plan.Col
	for _, o := range outNames(p.Src) {
		eachCol(o.expr, func(c plan.Col) { cols = append(cols, c) })
	}
	return cols
}

// hand returns the subplan of a join the columns of other tables that an expression uses.
func (b *Binder) hand(sub *level, e plan.Expr, p *Part) {
	own := b.colsOf(p)
	eachCol(e, func(c plan.Col) {
		if slices.Contains(own, c) {
			return
		}
		if slices.Contains(sub.arg.Cols, c) {
			return
		}
		sub.arg.Cols = append(sub.arg.Cols, c)
	})
}

// link binds a condition that joins. It refers to a table of the same item, to any property of it.
func (b *Binder) link(lv *level, s *Selection, p *Part, sc *Scope, c *syntax.Cond) (preds []plan.Expr, never bool, err error) {
	x := &names{b: &b.predicates, lv: lv, src: p.Src, at: c.N}
	col, err := x.plain(&syntax.NameExpr{Name: c.Name})
	if err != nil {
		return nil, false, err
	}
	parts := strings.Split(c.Path, "/")
	if len(parts) > 1 {
		key, name := parts[len(parts)-2], parts[len(parts)-1]
		for _, o := range s.Parts {
			if o.t.Key != key {
				continue
			}
			v, ok := o.Src.property(b.Cat, name)
			if !ok && o.Src.denied[name] {
				return nil, false, syntax.Fail(syntax.CodeNoRight, c.N, "there is no right to read %q", name)
			}
			if !ok {
				return nil, false, syntax.NotFound(c.N, "there is no property %q", name)
			}
			return one(compare(p.Src, col, c, v)), false, nil
		}
	}
	return b.referring(lv, p.Src, sc, col, c)
}

// links binds all conditions that join a part.
func (b *Binder) links(lv *level, s *Selection, p *Part, sc *Scope) (on []plan.Expr, never bool, err error) {
	for _, c := range p.links {
		preds, nothing, err := b.link(lv, s, p, sc, c)
		if err != nil {
			return nil, false, err
		}
		never = never || nothing
		on = append(on, preds...)
	}
	return on, never, nil
}

// extra binds the conditions of a join that is written as an object.
func (b *Binder) extra(lv *level, p *Part, sc *Scope) (preds []plan.Expr, never bool, err error) {
	src := *p.Src
	src.t = p.extra
	return b.conditions(lv, &src, sc, nil)
}

// rightJoin keeps the rows of the joined table, with the main rows that fit, or none.
func (b *Binder) rightJoin(lv *level, s *Selection, p *Part, skip map[*syntax.Cond]bool, node *plan.Node, sc *Scope) (never bool, err error) {
	main := s.Parts[0]
	scanned, ok := (*node).(*plan.Match)
	if !ok || len(scanned.Pattern.Vertices) != 1 || len(s.Parts) > 1 {
		return false, syntax.Unsupported(p.t.N, "a right join stands before other joins than left ones, beside a main table that is a label")
	}
	in, err := b.from(lv, p, lv.leaf(), nil, sc)
	if err != nil {
		return false, err
	}
	sc.things[p.t.Key] = &thing{table: p.bound}
	s.Parts = append(s.Parts, p)
	if never, err = b.wheres(lv, p, sc, skip); err != nil {
		return false, err
	}
	sub := lv.below()
	on, nothing, err := b.links(lv, s, p, sc)
	if err != nil {
		return false, err
	}
	never = never || nothing
	if p.extra != nil {
		preds, _, err := b.extra(lv, p, sc)
		if err != nil {
			return false, err
		}
		on = append(on, preds...)
	}
	if joined, ok := in.(*plan.Match); ok && b.refers(main) {
		// The join needs a main row, so it comes first: the rows above lead to it.
		on = append(on, p.where...)
		for _, e := range on {
			b.hand(sub, e, p)
		}
		joined.Input = sub.arg
		*node = &plan.Apply{Input: b.where(lv, scanned, main.where), Sub: b.where(lv, joined, on), Kind: plan.Inner, Cols: b.colsOf(p)}
		main.where = nil
		return never, nil
	}
	for _, e := range on {
		b.hand(sub, e, main)
	}
	scanned.Input = sub.arg
	*node = &plan.Apply{Input: b.where(lv, in, p.where), Sub: b.where(lv, scanned, on), Kind: plan.Optional, Cols: b.colsOf(main)}
	main.present = Op(plan.IsNotNull, &plan.ColRef{Col: main.Src.Vertex})
	return never, nil
}

// refers reports whether a part compares one of its columns with rows above.
func (b *Binder) refers(p *Part) bool {
	return slices.ContainsFunc(p.where, func(e plan.Expr) bool {
		key, other, _ := comparison(e, p.Src.Vertex)
		return key != "" && fromAbove(other, p.Src.Vertex)
	})
}

// presence adds columns that say whether a row has a part to the output rows.
func presence(lv *level, p *Part) int {
	if p.present == nil {
		return -1
	}
	return lv.Outs.Add(trueOrNull(p.present), "")
}

// trueOrNull yields null, not false, for a condition that fails.
func trueOrNull(test plan.Expr) plan.Expr {
	return &plan.Case{When: []plan.Expr{test}, Then: []plan.Expr{BoolConst(true)}}
}
