package fetch

import (
	"errors"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// defaultCount is the default number of items of an array.
const defaultCount = 10

// whole binds an array in an object as a query of its own.
func (b *binder) whole(m *syntax.Member, sc *scope) (*output, error) {
	lv := b.open()
	l, err := b.list(lv, m, sc)
	if err != nil {
		return nil, err
	}
	b.close(lv, l.node)
	q := lv.query
	out := &output{kind: outArray, lit: b.literal(m.Key, m.Kind), query: q, elem: l.elem, page: l.page, explain: l.explain || b.explain}
	if l.page != nil {
		total, err := b.totals(m, sc, l.page)
		if err != nil {
			return nil, err
		}
		out.before = append(out.before, total)
		if !l.page.rows {
			out.query = nil
		}
	}
	return out, nil
}

// totals creates the query that counts the rows of an array.
func (b *binder) totals(m *syntax.Member, sc *scope, pg *paging) (*query, error) {
	lv := b.open()
	inner := newScope(sc, lv)
	s, err := b.counted(lv, m.Array, m.Array.Main(), inner)
	if err != nil {
		return nil, err
	}
	b.close(lv, s.node)
	pg.slot = b.capture(lv, takeFirst, s.count, "total", 0)
	return lv.query, nil
}

// items is a list that is bound: its rows at a level, and how an item is written.
type items struct {
	node    plan.Node
	elem    *element
	page    *paging
	explain bool
}

// list binds the items of an array at a level.
func (b *binder) list(lv *level, m *syntax.Member, sc *scope) (*items, error) {
	a := m.Array
	inner := newScope(sc, lv)
	arr := &boundArray{lv: lv, value: -1}
	if lv.parent == nil {
		arr.query = lv.query
	}
	sc.things[m.Key] = &thing{array: arr, inner: inner}
	if a.Hop != nil && a.Hop.Find != "" {
		return b.paths(lv, a, inner)
	}
	main := a.Main()
	s, err := b.selects(lv, a, main, inner)
	if err != nil {
		return nil, err
	}
	l := &items{node: b.cut(a, s.node, defaultCount), page: b.paging(a), explain: main.Explain}
	arr.page = l.page
	fields, err := b.itemFields(lv, l, s, a, inner)
	if err != nil {
		return nil, err
	}
	for _, p := range s.parts {
		p.bound.open = false
	}
	l.elem, err = b.unwrap(lv, a, arr, inner, fields)
	return l, err
}

// paging says which totals an array requests beside its rows; nil for none.
func (b *binder) paging(a *syntax.Array) *paging {
	if a.Query == 0 {
		return nil
	}
	pg := &paging{col: -1, count: defaultCount, countOrd: -1, pageOrd: -1, rows: a.Query == 2}
	if a.Count != nil {
		pg.countOrd = a.Count.Ord
	}
	if a.Page != nil {
		pg.pageOrd = a.Page.Ord
	}
	if a.Query == 2 {
		name := formatKey(a.Key, syntax.MemberArray)
		total, info := name+"Total", name+"Info"
		for _, m := range a.N.Parent.Members {
			switch strings.TrimSuffix(m.Key, "@") {
			case total, info:
				return pg
			}
		}
		pg.total = b.literal(total, syntax.MemberPlain)
		pg.info = b.literal(info, syntax.MemberPlain)
	}
	return pg
}

// itemFields returns the members of an item, in the order of the request.
func (b *binder) itemFields(lv *level, l *items, s *selection, a *syntax.Array, inner *scope) ([]field, error) {
	parts := make(map[string]*part)
	for _, p := range s.parts {
		parts[p.t.Key] = p
	}
	var fields []field
	for _, m := range a.Members {
		if m.Kind == syntax.MemberTable {
			if p := parts[m.Key]; p != nil {
				f := field{kind: fieldObject, lit: b.literal(m.Key, m.Kind), col: presence(lv, p), fields: b.tableFields(lv, p)}
				if p.join != nil && p.t.Has && len(f.fields) == 0 {
					continue // a joined table without columns is not there
				}
				kids, err := b.inTable(lv, &l.node, m.Table, m.Key, inner, p.bound)
				if err != nil {
					return nil, err
				}
				if f.fields = append(f.fields, kids...); !m.Table.Drop {
					fields = append(fields, f)
				}
				continue
			}
			if a.Hop.IsEdge(m.Table) {
				f, err := b.edgeFields(lv, m)
				if err != nil {
					return nil, err
				}
				if !m.Table.Drop {
					fields = append(fields, f...)
				}
				continue
			}
		}
		f, err := b.child(lv, &l.node, m, inner)
		if err != nil {
			return nil, outside(m.N, err)
		}
		fields = append(fields, f...)
	}
	return fields, nil
}

// inTable binds an array inside a table's object.
func (b *binder) inTable(lv *level, node *plan.Node, t *syntax.Table, key string, sc *scope, bd *bound) ([]field, error) {
	if len(t.Members) == 0 {
		return nil, nil
	}
	inner := newScope(sc, lv)
	inner.main = bd
	sc.things[key].inner = inner
	return b.children(lv, node, t.Members, inner)
}

// unwrap returns the element of a list: the whole item, or the value that the array's key selects.
func (b *binder) unwrap(lv *level, a *syntax.Array, arr *boundArray, inner *scope, fields []field) (*element, error) {
	if a.Target == nil {
		return &element{object: -1, fields: fields}, nil
	}
	var f *field
	lit := b.literal(a.Target[0], syntax.MemberTable)
	for i := range fields {
		if string(fields[i].lit) == string(lit) {
			f = &fields[i]
		}
	}
	if f == nil || f.kind != fieldObject && f.kind != fieldHidden && f.kind != fieldRow {
		return &element{object: -1}, nil
	}
	arr.main = a.Target[0]
	if f.kind == fieldHidden {
		return nil, syntax.Unsupported(a.N, "%s is the same for all items", a.Target[0])
	}
	if len(a.Target) == 1 {
		return &element{object: f.col, fields: f.fields, row: f.kind == fieldRow}, nil
	}
	th := inner.things[a.Target[0]]
	if th == nil || th.table == nil {
		return &element{object: -1}, nil
	}
	e := th.table.column(b.cat, a.Target[1])
	if e == nil || th.table.lv != lv {
		return &element{value: true, col: -1, object: -1}, nil
	}
	if f.kind == fieldRow { // a column of a child
		arr.value = lv.outs.add(e, a.Target[1])
		return &element{value: true, json: th.table.t.Json[a.Target[1]], col: arr.value, object: -1}, nil
	}
	// The request needs only the value.
	json := th.table.t.Json[a.Target[1]]
	if len(a.Members) == 1 && len(a.Members[0].Table.Members) == 0 {
		lv.outs = outs{}
	}
	arr.value = lv.outs.add(e, a.Target[1])
	return &element{value: true, json: json, col: arr.value, object: -1}, nil
}

// children binds the members of an item or a table's object other than its columns.
func (b *binder) children(lv *level, node *plan.Node, members []*syntax.Member, sc *scope) ([]field, error) {
	var fields []field
	for _, m := range members {
		f, err := b.child(lv, node, m, sc)
		if err != nil {
			return nil, outside(m.N, err)
		}
		fields = append(fields, f...)
	}
	return fields, nil
}

// child binds one of these members.
func (b *binder) child(lv *level, node *plan.Node, m *syntax.Member, sc *scope) ([]field, error) {
	switch m.Kind {
	case syntax.MemberPlain:
		sc.things[m.Key] = &thing{plain: m.N}
		return []field{{kind: fieldText, lit: b.literal(m.Key, m.Kind), ord: m.N.Ord}}, nil
	case syntax.MemberRef:
		return b.itemReference(lv, m, sc)
	}
	// A member that is the same for all items is fetched once, before them.
	if !(outward{sc}).member(m) {
		mark := len(b.before)
		f, err := b.once(m, sc)
		if err == nil || !errors.Is(err, errOuter) {
			if err != nil && m.Table != nil && m.Table.Try {
				return nil, nil
			}
			return f, err
		}
		b.forget(mark)
	}
	if m.Kind == syntax.MemberTable {
		return b.childTable(lv, node, m, sc)
	}
	return b.childArray(lv, node, m, sc)
}

// itemReference binds "name@": "path" in an item.
func (b *binder) itemReference(lv *level, m *syntax.Member, sc *scope) ([]field, error) {
	t, err := b.resolve(m.Path, sc, lv)
	if err != nil || !t.found() {
		return nil, err
	}
	f := field{lit: b.literal(m.Key, m.Kind)}
	switch {
	case t.expr == nil:
		f.kind, f.slot = fieldSlot, t.slot
		if t.info {
			f.page = t.page
		}
	case t.info:
		pg := *t.page
		pg.info, pg.total = f.lit, nil
		pg.col = lv.outs.add(t.value(lv), m.Key)
		f.kind, f.page = fieldPage, &pg
	default:
		f.col = lv.outs.add(t.value(lv), m.Key)
	}
	return []field{f}, nil
}

// once binds a child that refers to nothing of its row: errOuter if it does.
func (b *binder) once(m *syntax.Member, sc *scope) ([]field, error) {
	q := func(lv *level, h *hidden) []field {
		h.slot = b.texts
		b.texts++
		lv.query.hidden = h
		lv.query.ran = true
		b.before = append(b.before, lv.query)
		return []field{{kind: fieldHidden, lit: b.literal(m.Key, m.Kind), col: h.slot}}
	}
	lv := b.open()
	if m.Kind == syntax.MemberTable {
		if t := m.Table; t.Drop || t.Must || t.Hop != nil && t.Hop.Start == nil && t.Hop.Ref == "" {
			return nil, errOuter
		}
		s, err := b.selects(lv, nil, m.Table, sc)
		if err != nil {
			return nil, err
		}
		p := s.parts[0]
		s.node = firstRow(s.node)
		fields := b.tableFields(lv, p)
		kids, err := b.inTable(lv, &s.node, m.Table, m.Key, sc, p.bound)
		if err != nil {
			return nil, err
		}
		p.bound.open = false
		b.close(lv, s.node)
		lv.query.first = true
		return q(lv, &hidden{fields: append(fields, kids...)}), nil
	}
	a := m.Array
	if a.Hop != nil && a.Hop.Start == nil && a.Hop.Ref == "" || a.Must {
		return nil, errOuter
	}
	l, err := b.list(lv, m, sc)
	if err != nil {
		return nil, err
	}
	b.close(lv, l.node)
	pg := l.page
	if pg == nil {
		return q(lv, &hidden{elem: l.elem}), nil
	}
	total, err := b.totals(m, sc, pg)
	if err != nil {
		return nil, err
	}
	total.ran = true
	b.before = append(b.before, total)
	var fields []field
	if pg.total != nil {
		fields = append(fields, field{kind: fieldSlot, lit: pg.total, slot: pg.slot}, field{kind: fieldSlot, lit: pg.info, slot: pg.slot, page: pg})
	}
	if pg.rows {
		fields = append(fields, q(lv, &hidden{elem: l.elem})...)
	}
	return fields, nil
}

// childTable binds an object that belongs to a row: the first row of its own.
func (b *binder) childTable(lv *level, node *plan.Node, m *syntax.Member, sc *scope) ([]field, error) {
	t := m.Table
	sub := lv.below()
	s, err := b.selects(sub, nil, t, sc)
	if err != nil {
		return nil, err
	}
	p := s.parts[0]
	s.node = firstRow(s.node)
	fields := b.tableFields(sub, p)
	kids, err := b.inTable(sub, &s.node, t, m.Key, sc, p.bound)
	if err != nil {
		return nil, err
	}
	p.bound.open = false
	fields = append(fields, kids...)
	// The row is a list of one list of the child's columns, or an empty list.
	out := lv.col(t.Key, graph.List)
	first := op(plan.Index, &plan.ColRef{Col: out}, intConst(0))
	b.keep(p.bound, sub, lv, first)
	row := &plan.ListLit{Elems: sub.outs.exprs}
	if len(row.Elems) == 0 {
		row.Elems = []plan.Expr{boolConst(true)}
	}
	*node = &plan.Apply{Input: *node, Sub: s.node, Kind: plan.Collect, Out: out, Expr: row}
	if t.Drop {
		return nil, nil
	}
	return []field{{kind: fieldRow, lit: b.literal(m.Key, m.Kind), col: lv.outs.add(&plan.ColRef{Col: out}, m.Key), fields: fields}}, nil
}

// keep exposes the columns of a child to references at the level above, as elements of its row.
func (b *binder) keep(bd *bound, sub, lv *level, row plan.Expr) {
	at := func(e plan.Expr, name string) plan.Expr {
		return op(plan.Index, row, intConst(int64(sub.outs.add(e, name))))
	}
	cols := make(map[string]plan.Expr)
	for name, e := range bd.cols {
		cols[name] = at(e, name)
	}
	if bd.star {
		for _, name := range b.cat.AllProps() {
			if e, ok := bd.src.property(b.cat, name); ok && !bd.none[name] && cols[name] == nil && sub.outs.has(e) {
				cols[name] = at(e, name)
			}
		}
		if bd.src.vertex != 0 {
			src := *bd.src
			bd.src = &src
			bd.row = at(&plan.ColRef{Col: src.vertex}, bd.t.Key)
		}
	}
	bd.cols, bd.lv = cols, lv
}

// childArray binds an array that belongs to a row.
func (b *binder) childArray(lv *level, node *plan.Node, m *syntax.Member, sc *scope) ([]field, error) {
	sub := lv.below()
	l, err := b.list(sub, m, sc)
	if err != nil {
		return nil, err
	}
	var fields []field
	if l.page != nil {
		f, err := b.childTotal(lv, node, m, sc, l.page)
		if err != nil {
			return nil, err
		}
		fields = append(fields, f...)
		if !l.page.rows {
			return fields, nil
		}
	}
	var item plan.Expr = &plan.ListLit{Elems: sub.outs.exprs}
	if l.elem.value && l.elem.col >= 0 && len(sub.outs.exprs) == 1 {
		item = sub.outs.exprs[0]
		l.elem.col = -2 // the element is the value
	} else if len(sub.outs.exprs) == 0 {
		item = &plan.ListLit{Elems: []plan.Expr{boolConst(true)}}
	}
	out := lv.col(m.Key, 0)
	*node = &plan.Apply{Input: *node, Sub: l.node, Kind: plan.Collect, Out: out, Expr: item}
	f := field{kind: fieldList, lit: b.literal(m.Key, m.Kind), col: lv.outs.add(&plan.ColRef{Col: out}, m.Key), elem: l.elem}
	return append(fields, f), nil
}

// childTotal binds the total of an array in an item.
func (b *binder) childTotal(lv *level, node *plan.Node, m *syntax.Member, sc *scope, pg *paging) ([]field, error) {
	sub := lv.below()
	inner := newScope(sc, sub)
	s, err := b.counted(sub, m.Array, m.Array.Main(), inner)
	if err != nil {
		return nil, err
	}
	arr := sc.things[m.Key].array
	if s.never { // a reference finds nothing
		arr.page = nil
		return nil, nil
	}
	out := lv.col("total", 0)
	list := &plan.Apply{Input: *node, Sub: s.node, Kind: plan.Collect, Out: out, Expr: s.count}
	*node = list
	total := op(plan.Index, &plan.ColRef{Col: out}, intConst(0))
	var found []plan.Expr
	for _, t := range sub.refs {
		if t.lv == sub {
			continue
		}
		found = append(found, op(plan.IsNotNull, t.value(lv)))
	}
	if len(found) > 0 { // rows dropped by a reference without a value have no total
		total = &plan.Case{When: []plan.Expr{and(found...)}, Then: []plan.Expr{total}}
	}
	arr.total, arr.lv = total, sub
	pg.col = lv.outs.add(total, "total")
	return []field{{kind: fieldPage, page: pg, col: pg.col}}, nil
}

// musts binds the conditions that children with "must" impose on their parent's rows.
func (b *binder) musts(lv *level, a *syntax.Array, t *syntax.Table, sc *scope) ([]plan.Expr, error) {
	var preds []plan.Expr
	members := t.Members
	if a != nil {
		members = append(slices.Clip(members), a.Members...)
	}
	for _, m := range members {
		var s *selection
		var err error
		sub := lv.below()
		switch {
		case m.Kind == syntax.MemberArray && m.Array.Must:
			inner := newScope(sc, sub)
			s, err = b.rows(sub, m.Array, m.Array.Main(), inner)
		case m.Kind == syntax.MemberTable && m.Table != t && m.Table.Must:
			inner := newScope(sc, sub)
			s, err = b.rows(sub, nil, m.Table, inner)
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		if s.never {
			preds = append(preds, boolConst(false))
			continue
		}
		preds = append(preds, &plan.Subquery{Kind: plan.Exists, Sub: unordered(s.node)})
	}
	return preds, nil
}
